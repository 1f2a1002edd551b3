// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// userHome creates a home directory of user 1000 with a directory app, and /etc.
func userHome(t *testing.T) string {
	t.Helper()
	requireRoot(t)
	root := t.TempDir()
	for _, dir := range []string{"etc", "home/u/app"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755)) //nolint:gosec // as on a host
	}
	for _, name := range []string{"home/u", "home/u/app"} {
		must(t, os.Chown(filepath.Join(root, name), 1000, 1000))
	}
	for _, name := range []string{"etc/shadow", "etc/replaced"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("root's\n"), 0o600))
	}
	return root
}

// replaceWithLink renames a directory of user 1000 and replaces it with a symbolic link of that user.
func replaceWithLink(t *testing.T, root, dir, target string) func() {
	t.Helper()
	dir = filepath.Join(root, dir)
	must(t, os.Rename(dir, dir+".away"))
	must(t, os.Symlink(target, dir))
	must(t, os.Lchown(dir, 1000, 1000))
	return func() {
		must(t, os.Remove(dir))
		must(t, os.Rename(dir+".away", dir))
	}
}

func ownedByUser(s State) State {
	uid, gid := 1000, 1000
	s.UID, s.GID = &uid, &gid
	return s
}

func TestApplyDoesNotFollowUserLink(t *testing.T) {
	root, dir := userHome(t), t.TempDir()
	replaceWithLink(t, root, "home/u/app", "../../etc")
	before := snapshot(t, root)
	_, err := open(t, dir, root).Apply(t.Context(), "files", []Change{
		{Kind: File, Target: "/etc/replaced", Desired: FileState([]byte("ours\n"), 0o644)},
		{Kind: File, Target: "/home/u/app/new/file", Desired: ownedByUser(FileState([]byte("ours\n"), 0o644))},
	})
	if err == nil || !strings.Contains(err.Error(), "link app of user 1000") ||
		!strings.HasPrefix(string(report.RemedyOf(err)), "namei -l "+root+"/home/u/app/new") {
		t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
	}
	if after := snapshot(t, root); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("changed: %q", after)
	}
}

func TestUndoDoesNotFollowUserLink(t *testing.T) {
	root, dir := userHome(t), t.TempDir()
	k := expectedStates{before: snapshot(t, root)}
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", []Change{
		{Kind: File, Target: "/etc/replaced", Desired: FileState([]byte("ours\n"), 0o644)},
		{Kind: File, Target: "/home/u/app/shadow", Desired: ownedByUser(FileState([]byte("ours\n"), 0o644))},
		{Kind: File, Target: "/home/u/app/conf.d/file", Desired: ownedByUser(FileState([]byte("ours\n"), 0o644))},
	})
	must(t, err)
	release := replaceWithLink(t, root, "home/u/app", "../../etc")
	outcome, err := l.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "link app of user 1000") ||
		!strings.HasPrefix(string(report.RemedyOf(err)), "namei -l "+root+"/home/u/app/") {
		t.Errorf("error %v, remedy %q", err, report.RemedyOf(err))
	}
	if len(outcome.Restored) != 1 || outcome.Restored[0].Target != "/etc/replaced" {
		t.Errorf("restored: %v", outcome.Restored)
	}
	if content, err := os.ReadFile(filepath.Join(root, "etc/shadow")); err != nil || string(content) != "root's\n" {
		t.Errorf("a file of root is %q now, %v", content, err)
	}
	release()
	k.checkUndo(t, l, workDir{root: root, dir: dir}, "with the directory again")
}

// The directory of two files exists through a link, which is removed between them.
func TestParentsAreCreatedAfterTheRemovalOfALink(t *testing.T) {
	requireRoot(t) // owns the parent
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "old"), 0o700))
	must(t, os.Symlink("old", filepath.Join(root, "dir")))
	_, err := open(t, t.TempDir(), root).Apply(t.Context(), "files", []Change{
		{Kind: File, Target: "/dir/first", Desired: ownedByTest(FileState([]byte("1"), 0o600))},
		{Kind: File, Target: "/dir/second", Desired: ownedByTest(FileState([]byte("2"), 0o600))},
		{Kind: Symlink, Target: "/dir"},
		{Kind: File, Target: "/dir/third", Desired: ownedByTest(FileState([]byte("3"), 0o600))},
	})
	must(t, err)
	for name, want := range map[string]string{"old/first": "1", "old/second": "2", "dir/third": "3"} {
		if content, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(content) != want {
			t.Errorf("%s contains %q, %v", name, content, err)
		}
	}
}
