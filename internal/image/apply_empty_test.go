// SPDX-License-Identifier: Apache-2.0

package image

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func applyTo(t *testing.T, root, config string) (Document, error) {
	t.Helper()
	return Apply(t.Context(), Options{Payload: "-", Root: root, Offline: true, Stdin: strings.NewReader(config)})
}

const (
	configOfFiles = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/a/b","contents":{"source":"data:,x"}}]},"systemd":{"units":[{"name":"a.service","enabled":true,"contents":"[Install]\nWantedBy=multi-user.target\n"}]}}`
	configOfUsers = `{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA core"]}]},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x"}}]}}`
)

func TestApplyToAnEmptyDirectory(t *testing.T) {
	root := t.TempDir()
	first, err := applyTo(t, root, configOfFiles)
	if err != nil || first.Changes == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	if second, err := applyTo(t, root, configOfFiles); err != nil || second.Changes != 0 {
		t.Errorf("the second apply: %+v, %v", second, err)
	}
}

func TestApplyOfUsersToAnEmptyDirectoryChangesNothing(t *testing.T) {
	root := t.TempDir()
	for range 2 {
		_, err := applyTo(t, root, configOfUsers)
		if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "require /etc/passwd") ||
			!strings.HasPrefix(string(report.RemedyOf(err)), "dnf --installroot "+root) {
			t.Errorf("error %v (%d), remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
		}
		if left := flowtest.ListTree(t, root); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// An apply must roll back what an earlier version left in an empty directory.
func TestApplyRollsBackAnEarlierFailureInAnEmptyDirectory(t *testing.T) {
	root := t.TempDir()
	tree, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	i, err := openImage(t.Context(), tree, report.Log{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.ledger.TrackExternal(t.Context(), "accounts",
		ledger.Change{Kind: accounts.User, Target: "core", Desired: ledger.State{Present: true}}); err != nil {
		t.Fatal(err)
	}
	i.close()
	if _, err := applyTo(t, root, configOfFiles); err != nil {
		t.Error(err)
	}
	for _, line := range flowtest.ListTree(t, root) {
		if strings.Contains(line, "hcp-node-agent") {
			t.Errorf("left: %s", line)
		}
	}
}
