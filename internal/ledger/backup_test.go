// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// backupRecorder collects the reported backups by the replaced file.
type backupRecorder map[string]string

func (r backupRecorder) Emit(event report.Event) {
	const replaced = " was changed since the join and is replaced; the replaced content is in "
	if target, backup, ok := strings.Cut(event.Message, replaced); ok {
		r[target] = backup
	}
}

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
	for _, name := range []string{
		"/etc/edited", "/etc/mode", "/etc/removed", "/etc/same", "/gone/with/all",
		"/etc/taken",
	} {
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
	for _, want := range []State{
		ownedByTest(FileState([]byte("hunter2"), 0o600)),
		ownedByTest(FileState([]byte("hunter3"), 0o600)),
		{},
	} {
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

// A file that was edited since the join is backed up before a later run replaces or removes it. What
// the agent itself wrote, the original, and an edited credential are not.
func TestApplyBacksUpEditedFiles(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	names := []string{"replaced", "repaired", "removed", "linked", "unchanged", "reverted", "credential", "mode"}
	write := func(name, content string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	change := func(kind Kind, name string, want State) Change {
		return Change{Kind: kind, Target: "/" + name, Desired: want}
	}
	file := func(content string) State { return ownedByTest(FileState([]byte(content), 0o600)) }
	var first []Change
	for _, name := range names {
		write(name, "original\n")
		first = append(first, change(File, name, file("first\n")))
	}
	l := open(t, dir, root)
	if _, err := l.Apply(t.Context(), "files", first); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		write(name, "edited\n")
	}
	write("unchanged", "first\n")
	write("reverted", "original\n")
	write("repaired.before-hcp-node-agent", "of an earlier edit\n")
	credential := change(File, "credential", State{})
	credential.NoBackup = true
	onlyMode := ownedByTest(DirectoryState(0o640))

	reported := backupRecorder{}
	l.LogTo(report.Log{Sink: reported})
	if _, err := l.Apply(t.Context(), "files", []Change{
		change(File, "replaced", file("second\n")), change(File, "repaired", file("first\n")),
		change(File, "removed", State{}),
		change(File, "linked", State{}), change(Symlink, "linked", State{Present: true, Link: "mode"}),
		change(File, "unchanged", file("second\n")), change(File, "reverted", file("second\n")),
		credential, change(File, "mode", onlyMode),
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(backupRecorder{
		"/replaced": "/replaced.before-hcp-node-agent", "/repaired": "/repaired.before-hcp-node-agent.2",
		"/removed": "/removed.before-hcp-node-agent", "/linked": "/linked.before-hcp-node-agent",
	}, reported); diff != "" {
		t.Errorf("reported backups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		" drwxr-xr-x",
		"/linked -> mode", `/linked.before-hcp-node-agent -rw------- "edited\n"`,
		`/mode -rw-r----- "edited\n"`,
		`/removed.before-hcp-node-agent -rw------- "edited\n"`,
		`/repaired -rw------- "first\n"`,
		`/repaired.before-hcp-node-agent -rw------- "of an earlier edit\n"`,
		`/repaired.before-hcp-node-agent.2 -rw------- "edited\n"`,
		`/replaced -rw------- "second\n"`, `/replaced.before-hcp-node-agent -rw------- "edited\n"`,
		`/reverted -rw------- "second\n"`, `/unchanged -rw------- "second\n"`,
	}, listTree(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
