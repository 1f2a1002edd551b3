// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An undo keeps a file that was edited after the ledger replaced it, and saves a copy of
// the original.
func TestUndoKeepsEditedFileAndBackup(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755)) //nolint:gosec // as on a host
		must(t, os.WriteFile(filepath.Join(root, name), []byte(content), mode))
	}
	for _, name := range []string{"etc/edited", "etc/mode", "etc/removed", "etc/same", "gone/with/all", "etc/taken"} {
		write(name, "mine\n", 0o640)
	}
	l := open(t, dir, root)
	var changes []Change
	for _, name := range []string{"/etc/edited", "/etc/mode", "/etc/removed", "/etc/same", "/gone/with/all", "/etc/taken"} {
		changes = append(changes, Change{Kind: File, Target: name, Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))})
	}
	if _, err := l.Apply(t.Context(), "files", changes); err != nil {
		t.Fatal(err)
	}
	write("etc/edited", "theirs\n", 0o644)
	must(t, os.Chmod(filepath.Join(root, "etc/mode"), 0o600))
	must(t, os.Remove(filepath.Join(root, "etc/removed")))
	write("etc/same", "mine\n", 0o600)
	must(t, os.RemoveAll(filepath.Join(root, "gone/with")))
	write("etc/taken", "theirs\n", 0o644)
	write("etc/taken.before-hcp-node-agent", "of an earlier join\n", 0o600)

	outcome, err := l.Undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	backups := map[string]string{}
	for _, kept := range outcome.Kept {
		backups[kept.Target] = kept.Backup
	}
	if diff := cmp.Diff(map[string]string{
		"/etc/edited":  "/etc/edited.before-hcp-node-agent",
		"/etc/mode":    "/etc/mode.before-hcp-node-agent",
		"/etc/removed": "/etc/removed.before-hcp-node-agent",
		"/etc/taken":   "/etc/taken.before-hcp-node-agent.2",

		"/gone/with/all": "", // the whole directory was removed on purpose
	}, backups); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, l.Remove())
	if diff := cmp.Diff([]string{
		" drwxr-xr-x",
		"/etc drwxr-xr-x",
		`/etc/edited -rw-r--r-- "theirs\n"`, `/etc/edited.before-hcp-node-agent -rw-r----- "mine\n"`,
		`/etc/mode -rw------- "ours\n"`, `/etc/mode.before-hcp-node-agent -rw-r----- "mine\n"`,
		`/etc/removed.before-hcp-node-agent -rw-r----- "mine\n"`,
		`/etc/same -rw-r----- "mine\n"`,
		`/etc/taken -rw-r--r-- "theirs\n"`, `/etc/taken.before-hcp-node-agent -rw------- "of an earlier join\n"`,
		`/etc/taken.before-hcp-node-agent.2 -rw-r----- "mine\n"`,
		"/gone drwxr-xr-x",
	}, listTree(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A secret that the ledger wrote and then removed is not stored anywhere.
func TestAgentContentIsNotSavedAsOriginal(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	l := open(t, dir, root)
	for _, want := range []State{ownedByTest(FileState([]byte("hunter2"), 0o600)), ownedByTest(FileState([]byte("hunter3"), 0o600)), {}} {
		if _, err := l.Apply(t.Context(), "files", []Change{{Kind: File, Target: "/kubeconfig", Desired: want}}); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "originals")); err != nil || len(kept) > 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if _, err := l.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
}
