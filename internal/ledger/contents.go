package ledger

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// ContentsOf is the driver of directories (and single files) whose contents
// others make, as kubelet does in /var/lib/kubelet: it records the names that
// are there, and an undo removes those that came since. It never goes across a
// mount.
type ContentsOf struct{ Tree *host.Tree }

// Look lists what is in the directory.
func (d *ContentsOf) Look(_ context.Context, c Change) (State, error) {
	info, err := d.Tree.Lstat(c.Target)
	if err != nil || info.Type == host.Absent {
		return State{}, err
	}
	state := State{Present: true, Type: string(info.Type)}
	if info.Type != host.Directory {
		return state, nil // a single file that others write; its content is theirs
	}
	err = d.Tree.Walk(c.Target, func(p string, _ host.Info) error {
		state.Names = append(state.Names, p)
		return nil
	})
	return state, err
}

// Bracketed says that others make the contents.
func (d *ContentsOf) Bracketed() {}

// Make does nothing: others make the contents.
func (d *ContentsOf) Make(context.Context, Change, State) error { return nil }

// Restore removes what came since, deepest first.
func (d *ContentsOf) Restore(_ context.Context, c Change, before State) error {
	mounts, err := d.Tree.Mounts(c.Target)
	if err != nil {
		return err
	}
	// The directory itself can be a file system of its own, as it was before.
	mounts = slices.DeleteFunc(mounts, func(point string) bool { return point == path.Join(d.Tree.Name(), c.Target) })
	if len(mounts) > 0 {
		return fmt.Errorf("a file system is mounted at %s, so nothing below %s was removed: unmount it (umount %s) and run leave again", mounts[0], c.Target, mounts[0])
	}
	came, err := d.came(c, before)
	if err != nil {
		return err
	}
	for _, p := range came {
		if err := d.Tree.Remove(p); err != nil {
			return err
		}
	}
	if !before.Present {
		if err := d.Tree.Remove(path.Clean(c.Target)); err != nil {
			return err
		}
	}
	return d.sync(c)
}

// sync makes removals from the directory durable. Otherwise a power cut could
// keep the record that they were made and bring the files back, which can be
// credentials.
func (d *ContentsOf) sync(c Change) error {
	dir := path.Clean(c.Target)
	for ; dir != "/"; dir = path.Dir(dir) {
		info, err := d.Tree.Lstat(dir)
		if err != nil {
			return err
		}
		if info.Type == host.Directory {
			break
		}
	}
	return d.Tree.SyncFileSystem(dir)
}

// Came lists what is in the directory of an item and was not before the first
// change, deepest first.
func (d *ContentsOf) Came(item Item) ([]string, error) { return d.came(item.Change, item.Before) }

// came lists what is in the directory and was not, deepest first.
func (d *ContentsOf) came(c Change, before State) ([]string, error) {
	old := map[string]bool{}
	for _, name := range before.Names {
		old[name] = true
	}
	var came []string
	err := d.Tree.Walk(c.Target, func(p string, _ host.Info) error {
		if !old[p] {
			came = append(came, p)
		}
		return nil
	})
	slices.Reverse(came)
	return came, err
}
