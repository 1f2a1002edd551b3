// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runPlugin runs a file of a directory in which the plugin is installed, and returns what it prints.
func runPlugin(t *testing.T, file string, args ...string) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../packaging/rpm/kubectl_complete-hcp_node")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, target := range map[string]string{
		"kubectl-hcp_node": executable, "oc-hcp_node": executable, "oc_complete-hcp_node": script,
	} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), filepath.Join(bin, file), args...)
	command.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	out, _ := command.CombinedOutput() // a usage error is expected
	return string(out)
}

// A plugin names itself as its users call it: in usage, help, examples, errors and remedies.
func TestPluginNamesItself(t *testing.T) {
	empty := writeTestFile(t, t.TempDir(), "empty.token", "")
	for _, file := range []string{"kubectl-hcp_node", "oc-hcp_node"} {
		for want, args := range map[string][]string{
			"Usage:\n  oc hcp-node enroll NODEPOOL (NODE":       {"enroll", "--help"},
			"\n  oc hcp-node token show worker-7.token\n":       {"token", "show", "--help"},
			"\nSee: oc hcp-node COMMAND --help\n":               {"--help"},
			"oc hcp-node approve: the name of one ":             {"approve"},
			"\nsee: oc hcp-node approve --help\n":               {"approve"},
			"\noc hcp-node enroll -n NAMESPACE NODEPOOL NODE\n": {"token", "show", empty},
		} {
			got := runPlugin(t, file, args...)
			if !strings.Contains(got, want) || strings.Contains(got, programName+" token") {
				t.Errorf("%s %q does not print %q, but:\n%s", file, args, want, got)
			}
		}
	}
}

// oc and kubectl run the script with the words after the name of the plugin, and read cobra's list of completions.
func TestPluginCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"revoke\tRevoke the join tokens": {"token", "r"},
		"--fingerprint\t":                {"approve", "--fing"},
	} {
		if got := runPlugin(t, "oc_complete-hcp_node", args...); !strings.HasPrefix(got, want) ||
			!strings.Contains(got, "\n:") {
			t.Errorf("%q is completed with:\n%s", args, got)
		}
	}
}
