// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// withParents inserts the missing parents of the desired paths before them. It moves hard
// links behind the paths that they can refer to.
func (d *Paths) withParents(changes []Change) ([]Change, error) {
	named := map[string]bool{}
	complete := make([]Change, 0, len(changes))
	for _, c := range changes {
		if c.Kind == Directory && c.Desired.Present {
			named[path.Clean(c.Target)] = true
		}
	}
	removed := pathSet{}
	completed := map[string]bool{} // directories whose missing parents are in the list
	for _, c := range hardLinksLast(changes) {
		switch {
		case !c.Kind.isPath():
		case c.Desired.Present:
			parent := path.Dir(path.Clean("/" + c.Target))
			if completed[parent] {
				break
			}
			missing, err := d.missingParents(parent, removed)
			if err != nil {
				return nil, err
			}
			completed[parent] = true
			for _, dir := range missing {
				if !named[dir] {
					named[dir] = true
					complete = append(complete, Change{
						Kind: Directory, Target: dir, Reason: "parent of " + c.Target, Desired: DirectoryState(0o755),
					})
				}
			}
		default:
			info, err := d.Tree.Lstat(c.Target)
			if err != nil {
				return nil, err
			}
			if info.Type != hostfs.Absent && c.removes(info.Type) {
				removed[path.Clean(c.Target)] = true
				clear(completed)
			}
		}
		complete = append(complete, c)
	}
	return complete, nil
}

// missingParents returns the directories that must be created before dir exists, outermost first.
// Directories below a path that an earlier change removes count as missing.
func (d *Paths) missingParents(dir string, removed pathSet) ([]string, error) {
	var below []string
	for ; dir != "/" && removed.covers(dir); dir = path.Dir(dir) {
		below = append([]string{dir}, below...)
	}
	missing, err := d.Tree.MissingDirs(dir)
	return append(missing, below...), unsafeLinkError(err)
}

// hardLinksLast sorts each run of path changes in the order in which setAll makes them. An
// undo runs in the opposite order and must remove a hard link before the file that it
// refers to.
func hardLinksLast(changes []Change) []Change {
	position := func(c Change) int {
		if c.Kind == HardLink && c.Desired.Present {
			return 1
		}
		return 0
	}
	ordered := slices.Clone(changes)
	for i := 0; i < len(ordered); {
		end := i
		for end < len(ordered) && ordered[end].Kind.isPath() {
			end++
		}
		slices.SortStableFunc(ordered[i:end], func(a, b Change) int { return cmp.Compare(position(a), position(b)) })
		i = end + 1
	}
	return ordered
}
