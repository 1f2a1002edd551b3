// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// linkedChanges returns a file with the content, a hard link to it, and one that replaces a file of the host.
func linkedChanges(content string) []Change {
	return []Change{
		{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte(content), 0o644))},
		{Kind: HardLink, Target: "/etc/link", Desired: HardLinkState("/etc/replaced", hostfs.Regular)},
		{Kind: HardLink, Target: "/etc/same", Desired: HardLinkState("/etc/replaced", hostfs.Regular)},
		{Kind: Symlink, Target: "/etc/symlink", Desired: State{Present: true, Link: content}},
		{Kind: HardLink, Target: "/etc/again", Desired: HardLinkState("/etc/symlink", hostfs.Symlink)},
	}
}

// A new target has the links of the old one, also after a run that was interrupted before it made the links.
func TestHardLinksFollowTheirTarget(t *testing.T) {
	for name, links := range map[string]int{"complete": 3, "interrupted": 0} {
		t.Run(name, func(t *testing.T) {
			root, dir := populate(t), t.TempDir()
			k := expectedStates{before: snapshot(t, root)}
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", linkedChanges("first"))
			must(t, err)
			pending, err := l.Diff(t.Context(), linkedChanges("second"))
			must(t, err)
			if len(pending) != 5 {
				t.Errorf("pending: %v", pending)
			}
			_, err = l.recordIntent(record{Step: "files"}, pending)
			must(t, err)
			must(t, l.drivers.Paths.setAll(t.Context(), pending[:2+links]))
			interrupted := workDir{root: copyTree(t, root), dir: copyTree(t, dir)}
			k.checkUndo(t, open(t, interrupted.dir, interrupted.root), interrupted, "undone")

			_, err = l.Apply(t.Context(), "files", linkedChanges("second"))
			must(t, err)
			if left, err := l.Diff(t.Context(), linkedChanges("second")); err != nil || len(left) > 0 {
				t.Errorf("run again: left %v, %v", left, err)
			}
			content, err := os.ReadFile(filepath.Join(root, "etc/link"))
			must(t, err)
			target, err := os.Readlink(filepath.Join(root, "etc/again"))
			must(t, err)
			if string(content) != "second" || target != "second" {
				t.Errorf("the links lead to %q and %q", content, target)
			}
			if copies, _ := filepath.Glob(filepath.Join(root, "etc/*"+backupSuffix)); len(copies) > 0 {
				t.Errorf("backups of unchanged files: %v", copies)
			}
			k.checkUndo(t, l, workDir{root: root, dir: dir}, "run again, undone")
		})
	}
}

// A file that an administrator has written instead of a hard link is backed up before it is replaced, and remains when
// the host is restored.
func TestFileInsteadOfHardLinkIsNotLost(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	_, err := l.Apply(t.Context(), "files", linkedChanges("first"))
	must(t, err)
	must(t, os.Remove(filepath.Join(root, "etc/link")))
	must(t, os.WriteFile(filepath.Join(root, "etc/link"), []byte("mine\n"), 0o644)) //nolint:gosec // the mode of the link
	for _, item := range l.Items() {
		now, err := l.drivers.currentState(t.Context(), item.Change)
		must(t, err)
		if action := item.decide(now); item.Target == "/etc/link" && action != keepAction {
			t.Errorf("an undo would %s it", action)
		}
	}
	_, err = l.Apply(t.Context(), "files", linkedChanges("second"))
	must(t, err)
	if content, err := os.ReadFile(filepath.Join(root, "etc/link"+backupSuffix)); string(content) != "mine\n" {
		t.Errorf("the backup is %q, %v", content, err)
	}
}

// The links of an interrupted first run that were not made yet are no drift.
func TestHardLinksOfAnInterruptedRunAreNoDrift(t *testing.T) {
	l := open(t, t.TempDir(), populate(t))
	pending, err := l.Diff(t.Context(), linkedChanges("first"))
	must(t, err)
	_, err = l.recordIntent(record{Step: "files"}, pending)
	must(t, err)
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("drift: %v, %v", drift, err)
	}
}
