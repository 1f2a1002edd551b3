// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/docblocks"
)

// harmlessLine matches commands of the documentation that succeed on a healthy node and change nothing. The blocks with
// other commands are run outside of a machine, see test/docblocks.
var harmlessLine = regexp.MustCompile(`^(` +
	`hcp-node-agent (doctor|status|config show)( [^>]*)?|hcp-node-agent plan --user-data user-data\.ign|` +
	`systemctl status .*|journalctl -[bpou] .*|ovs-vsctl show|nmcli -f .* connection show --active|` +
	`ip (-br|-6|route) .*show.*|findmnt .*|openssl x509 .*|ls -l /run/.*)$`)

// testDocumentedReads runs, on a healthy node, the shell blocks of the documentation that only read, as an
// administrator pastes them.
func testDocumentedReads(ctx context.Context, t *testing.T) {
	t.Helper()
	await(ctx, t, "systemctl is-active hcp-node-agent && ls /run/hcp-node-agent/metrics/*")
	blocks, err := docblocks.Find("../../..")
	must(t, err)
	pages := map[string]bool{}
	for _, block := range blocks {
		if block.Language != docblocks.Shell || !isHarmless(block.Text) {
			continue
		}
		pages[block.Page] = true
		result, err := environment.Machine.Run(ctx, "cd /root; set -e -o pipefail\n"+
			strings.ReplaceAll(block.Text, " eth0", " br-ex")) // the uplink before the join
		must(t, err)
		if result.ExitCode != 0 || result.Stdout == "" {
			t.Errorf("%s: exit code %d\n%s\n%s%s", block, result.ExitCode, block.Text, result.Stdout, result.Stderr)
		}
	}
	for _, page := range []string{
		"br-ex", "control-plane-outage", "day-2", "hardened-hosts", "json", "monitoring", "troubleshooting",
	} {
		if !pages["docs/"+page+".md"] {
			t.Errorf("no command of docs/%s.md was run", page)
		}
	}
}

func isHarmless(script string) bool {
	for line := range strings.Lines(script) {
		if !harmlessLine.MatchString(strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	return true
}
