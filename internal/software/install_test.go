// SPDX-License-Identifier: Apache-2.0

package software

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func TestPhase(t *testing.T) {
	const waitingLine = "Waiting for process with pid 7 to finish."
	for line, want := range map[string]string{
		"Downloading Packages:":     "waiting for dnf to download the packages",
		"Running transaction check": "",
		"Running transaction test":  "waiting for dnf to test the transaction",
		"Running transaction":       "waiting for dnf to install the packages",
		"  Installing : cri-o  1/3": "",
		waitingLine:                 "waiting for another dnf process to exit (" + waitingLine + ")",
	} {
		if got := phase(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestRemovalHint(t *testing.T) {
	item := func(done bool, before, after string) ledger.Item {
		return ledger.Item{
			Change: ledger.Change{
				Kind:    TransactionKind,
				Reason:  "cri-o-1.31.*",
				Desired: ledger.State{Present: true, Value: after},
			},
			Before: ledger.State{Present: true, Value: before}, Done: done,
		}
	}
	for name, test := range map[string]struct {
		item ledger.Item
		want string
	}{
		"installed": {
			item(true, "41", "42"),
			"(cri-o-1.31.* and dependencies): list them with \"dnf history info 42\", remove them with \"dnf history undo 42\"",
		},
		"first ever":         {item(true, "", "1"), "dnf history undo 1\""},
		"dnf installed none": {item(true, "41", "41"), ""},
		"killed while it did": {
			item(false, "41", ""),
			"join was interrupted while dnf installed cri-o-1.31.*: list its transactions with \"dnf history list\"",
		},
	} {
		if got := RemovalHint(test.item); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
