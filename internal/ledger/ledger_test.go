// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// open opens a ledger for root, with the driver of paths.
func open(t *testing.T, dir, root string) *Ledger {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, Drivers{Paths: &Paths{Tree: tree}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); tree.Close() })
	return l
}

// listTree renders a tree: one line for each path with type, mode and content.
func listTree(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(p, root) + " " + info.Mode().String()
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			line = strings.TrimPrefix(p, root) + " -> " + target
		case info.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", content)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// ownedByTest returns the state with the owner of the test process.
func ownedByTest(s State) State {
	uid, gid := os.Geteuid(), os.Getegid()
	s.UID, s.GID = &uid, &gid
	return s
}

func testChanges() []Change {
	return []Change{
		{Kind: File, Target: "/etc/new/deep/file", Desired: ownedByTest(FileState([]byte("new\n"), 0o600))},
		{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte("theirs\n"), 0o755))},
		{Kind: File, Target: "/etc/was-link", Desired: ownedByTest(FileState([]byte("plain\n"), 0o644))},
		{Kind: Symlink, Target: "/etc/masked.service", Desired: State{Present: true, Link: "/dev/null"}},
		{Kind: HardLink, Target: "/etc/other-name", Desired: State{Present: true, Link: "/etc/replaced"}},
		{Kind: File, Target: "/etc/unwanted", Desired: State{}},
		{Kind: Directory, Target: "/srv", Desired: ownedByTest(DirectoryState(0o700))},
	}
}

func populate(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"etc", "srv"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // as on a host
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"etc/replaced": "original\n", "etc/unwanted": "still wanted\n",
		"etc/same": "same\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o640); err != nil { //nolint:gosec // as on a host
			t.Fatal(err)
		}
	}
	if err := os.Symlink("same", filepath.Join(root, "etc/was-link")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestApplyIsIdempotentAndUndoRestoresEverything(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	before := listTree(t, root)
	l := open(t, dir, root)
	made, err := l.Apply(t.Context(), "files", testChanges())
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != len(testChanges())+2 { // and two parents
		t.Errorf("made %d changes: %v", len(made), made)
	}
	want := []string{
		" drwxr-xr-x", "/etc drwxr-xr-x", "/etc/masked.service -> /dev/null", "/etc/new drwxr-xr-x",
		"/etc/new/deep drwxr-xr-x",
		`/etc/new/deep/file -rw------- "new\n"`, `/etc/other-name -rwxr-xr-x "theirs\n"`,
		`/etc/replaced -rwxr-xr-x "theirs\n"`,
		`/etc/same -rw-r----- "same\n"`, `/etc/was-link -rw-r--r-- "plain\n"`, "/srv drwx------",
	}
	if diff := cmp.Diff(want, listTree(t, root)); diff != "" {
		t.Fatalf("tree after apply (-want +got):\n%s", diff)
	}
	if again, err := l.Apply(t.Context(), "files", testChanges()); err != nil || len(again) != 0 {
		t.Errorf("second apply made %v, %v", again, err)
	}
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) != 0 {
		t.Fatalf("undo kept %v: %v", outcome.Kept, err)
	}
	if diff := cmp.Diff(before, listTree(t, root)); diff != "" {
		t.Errorf("tree after undo (-want +got):\n%s", diff)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
}

func TestUndoKeepsForeignChanges(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	if _, err := l.Apply(t.Context(), "files", testChanges()); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(root, "etc/replaced")
	if err := os.WriteFile(foreign, []byte("an administrator's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drift, err := l.Drift(t.Context())
	if err != nil || len(drift) != 1 || drift[0].Target != "/etc/replaced" {
		t.Fatalf("drift %v, %v", drift, err)
	}
	outcome, err := l.Undo(t.Context())
	if err != nil || len(outcome.Kept) != 1 || outcome.Kept[0].Target != "/etc/replaced" {
		t.Fatalf("kept %v, %v", outcome.Kept, err)
	}
	if content, _ := os.ReadFile(foreign); string(content) != "an administrator's\n" {
		t.Errorf("their file holds %q", content)
	}
}

func TestDamageInTheMiddleIsAnError(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	if _, err := l.Apply(t.Context(), "files", testChanges()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	name := filepath.Join(dir, "ledger.log")
	log, _ := os.ReadFile(name)
	log[len(log)/2] ^= 1
	if err := os.WriteFile(name, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Drivers{}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("opening a damaged ledger: %v", err)
	}
}

// Without the log, nothing can be restored: an undo must not report that there is nothing to restore.
func TestOriginalsWithoutLogAreAnError(t *testing.T) {
	for name, lose := range map[string]func(name string) error{
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := populate(t), t.TempDir()
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", testChanges())
			must(t, err)
			drivers := l.drivers
			must(t, l.Close())
			must(t, lose(filepath.Join(dir, "ledger.log")))

			_, errRead := OpenReadOnly(dir, drivers)
			_, errWrite := Open(dir, drivers)
			for _, err := range []error{errRead, errWrite} {
				if err == nil || !strings.Contains(err.Error(), "ledger is incomplete") || report.RemedyOf(err) == "" {
					t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
				}
			}
		})
	}
}

// An interrupted Discard leaves the header, and originals that the next run ignores.
func TestDiscardIsResumed(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", testChanges())
	must(t, err)
	log := filepath.Join(dir, "ledger.log")
	content, err := os.ReadFile(log)
	must(t, err)
	must(t, l.Close())
	must(t, os.Truncate(log, int64(strings.Index(string(content), "\n")+1)))

	l = open(t, dir, root)
	if items := l.Items(); len(items) > 0 {
		t.Errorf("items %v", items)
	}
	must(t, l.Discard())
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestOpenFailsWhileLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, t.TempDir())
	if _, err := Open(dir, Drivers{}); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v", err)
	}
}
