package ledger

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// recordFailure records the error of an item and blocks the older items that depend on the item.
func (u *undoRun) recordFailure(item Item, err error) {
	if err != nil {
		u.errs = append(u.errs, err)
		u.blockOlder(item)
	}
}

// blockOlder marks an item as not restored, so that older items wait. A hard link is recognized
// by being the same file as its target, so the target must wait too.
func (u *undoRun) blockOlder(item Item) {
	u.failed = append(u.failed, item.Target)
	if item.Kind == HardLink {
		u.failed = append(u.failed, item.Desired.Link)
	}
}

// isBlocked reports whether an item must wait for a newer item that could not be restored, at
// the same path or below. The path is then occupied by the newer item, not by another
// process, and the next undo restores both. Only the attributes of a directory do not
// depend on its contents.
func (u *undoRun) isBlocked(item Item) bool {
	return slices.ContainsFunc(u.failed, func(p string) bool {
		inPlace := item.Kind == Directory && item.Before.Type == string(hostfs.Directory) && path.Clean(p) != path.Clean(item.Target)
		return hostfs.IsWithin(p, item.Target) && !inPlace
	})
}

// isHardLinkTarget reports whether a hard link to the item's path is about to be replaced.
func (u *undoRun) isHardLinkTarget(item Item) bool {
	return slices.ContainsFunc(u.staged, func(w Item) bool {
		return w.Kind == HardLink && w.Before.Present && path.Clean(w.Desired.Link) == path.Clean(item.Target)
	})
}

// restoreError wraps the error of an item that could not be restored. For EPERM it adds a
// remedy.
func (u *undoRun) restoreError(item Item, err error) error {
	err = fmt.Errorf("giving back %s %s: %w", item.Kind, item.Target, err)
	paths, ok := u.l.drivers[item.Kind].(*Paths)
	if !ok || !errors.Is(err, unix.EPERM) {
		return err
	}
	p := path.Join(paths.Tree.Name(), item.Target)
	return report.Fail(report.Failed, fmt.Sprintf("lsattr -d %s %s # i is immutable, a append-only: chattr -i -a takes both off",
		report.ShellWord(path.Dir(p)), report.ShellWord(p)), "%w", err)
}

// unsafeLinkError adds a remedy to an error about a symbolic link that is not followed.
func unsafeLinkError(err error) error {
	var unsafe *hostfs.UnsafeLinkError
	if !errors.As(err, &unsafe) {
		return err
	}
	return report.Fail(report.Failed, fmt.Sprintf("namei -l %s # shows the owner of each part; replace the link with a directory, and run the same command again",
		report.ShellWord(unsafe.Path)), "%w", err)
}
