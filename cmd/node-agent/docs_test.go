// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

func TestManPages(t *testing.T) { agent().CheckManPages(t, "hcp-node-agent-config.5") }

func TestReferenceIsCurrent(t *testing.T) { agent().CheckReference(t, "../../docs/reference.md") }

// A man page contains all entries of the tables, in a form that can be copied.
func TestManPageOfJoin(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795219200")
	text := formatManPage(t, "hcp-node-agent-join.8")
	for _, want := range []string{
		"2026-11-21", "hcp-node-agent join [OPTION]...",
		"       --user-data=FILE\n              FILE with the NodePool's user data, or",
		"       --apply-host-settings[=MODE]\n", "       -h, --help\n              print help\n",
		"       -o, --output=FORMAT\n              output FORMAT: text or json (default: text)\n",
		"[HCP_NODE_AGENT_PAYLOAD_DROP, payload.drop]",
		"a final /**;", "pause IMAGE for CRI-O", "\n       schedulable\n              wait", "/var/lib/hcp-node-agent",
		"/etc/hcp-node-agent/user-data.ign", "/etc/hcp-node-agent/node.token", "/hcp-node-agent.service",
		"crio(8)", "kubelet(1)", "nmcli(1)", "hcp-node-agent-leave(8)",
		"       7      reboot required; then run the command again\n", "       130    interrupted", "SEE ALSO",
		"with the value dumb, lines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// The example in the configuration file's man page is valid, and the page has all settings.
func TestManPageOfTheConfiguration(t *testing.T) {
	text := strings.Join(strings.Fields(formatManPage(t, "hcp-node-agent-config.5")), " ")
	for _, flag := range append(allSettings(), "repair") {
		setting := config.Key(flag)
		same := regexp.MustCompile(" " + regexp.QuoteMeta(setting) + " .* Same as --" + flag + "( [^ ]+)? and " +
			config.Variable(flag) + `\.`)
		if !same.MatchString(text) {
			t.Errorf("the page does not have %s, --%s:\n%s", setting, flag, text)
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(configurationExample()), 0o600); err != nil {
		t.Fatal(err)
	}
	if result := runCommandLine(t, "", "config", "validate", file); result.Code != 0 {
		t.Errorf("the example is refused: %s%s", result.Out, result.Err)
	}
}

// formatManPage returns a man page as man displays it.
func formatManPage(t *testing.T, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "groff", "-mandoc", "-Tascii", "-P-c", "-rLL=200n")
	p := newPrinter(cli.Streams{})
	pages, err := cli.ManPages(newRootCommand(p), p.Program, docs())
	if err != nil {
		t.Fatal(err)
	}
	command.Stdin = strings.NewReader(pages[name])
	out, err := command.Output()
	if err != nil {
		t.Fatalf("groff: %v", err)
	}
	return regexp.MustCompile(".\b").ReplaceAllString(string(out), "")
}
