// SPDX-License-Identifier: Apache-2.0

package sos

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// maskLines masks the lines of standard input by the patterns of the plugin, without sos.
const maskLines = `
import sys, types
for name in ['sos', 'sos.report', 'sos.report.plugins']:
    sys.modules[name] = types.ModuleType(name)
for name in ['Plugin', 'DebianPlugin', 'RedHatPlugin']:
    setattr(sys.modules['sos.report.plugins'], name, type(name, (), {}))
plugin = {}
exec(open(sys.argv[1]).read(), plugin)
text = sys.stdin.read()
for pattern, mask in plugin['SECRETS']:
    text = pattern.sub(mask, text)
sys.stdout.write(text)
`

// The plugin masks the lines that internal/redact masks.
func TestShapesOfPlugin(t *testing.T) {
	content, err := os.ReadFile("../../internal/redact/testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "python3", "-c", maskLines, "../../packaging/sos/hcp_node_agent.py")
	command.Stdin, command.Stderr = strings.NewReader(string(content)), os.Stderr
	masked, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.Split(string(content), "\n"), strings.Split(string(masked), "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines become %d", len(before), len(after))
	}
	for i, line := range after {
		if strings.Contains(strings.ToLower(line), "canary7") {
			t.Errorf("%q becomes %q", before[i], line)
		}
	}
}
