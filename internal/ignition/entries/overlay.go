// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// overlay is the final state of the tree: the tree itself, overlaid by created and removed nodes.
// Its paths are real paths, without symbolic links in their parents.
type overlay struct {
	tree      Tree
	err       error                  // the first error of the tree; later results are meaningless
	treeInfo  map[string]hostfs.Info // cache of Lstat of the tree
	nodes     map[string]*node       // changed nodes, and cached ones
	cleared   map[string]bool        // directories of the tree that were removed with their contents
	touched   []*touchedPath
	touchedAt map[string]*touchedPath
}

// node is one file, directory or link in the overlay.
type node struct {
	kind     hostfs.FileType
	mode     uint32
	uid, gid int
	link     string // of a symbolic link
	xattrs   map[string][]byte

	content      []byte // of a regular file, if contentKnown
	contentKnown bool
	treePath     string // path in the tree, for an existing file
	inode        inode  // of an existing file

	created  bool         // created by the config; otherwise only explicit attributes are set
	explicit ledger.State // explicit mode and owner
	written  bool         // the content is set, too
}

type inode struct{ device, number uint64 }

// touchedPath is a path that the config affects.
type touchedPath struct {
	path       string
	why        string
	overwrite  bool
	implied    bool   // only a parent of an entry
	conflict   string // problem to report if the overlay differs from the tree
	hardTarget string // target of a hard link
}

func newOverlay(tree Tree) *overlay {
	return &overlay{
		tree: tree, treeInfo: map[string]hostfs.Info{}, nodes: map[string]*node{},
		cleared: map[string]bool{}, touchedAt: map[string]*touchedPath{},
	}
}

// lstatTree returns the file information of the tree itself.
func (o *overlay) lstatTree(p string) hostfs.Info {
	info, seen := o.treeInfo[p]
	if !seen {
		var err error
		info, err = o.tree.Lstat(p)
		o.err = cmp.Or(o.err, err)
		o.treeInfo[p] = info
	}
	return info
}

// lstat returns the node at a real path. The node of a missing path has kind Absent.
func (o *overlay) lstat(p string) *node {
	if p == "/" {
		return &node{kind: hostfs.Directory, mode: 0o755}
	}
	if n := o.nodes[p]; n != nil {
		return n
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if o.cleared[dir] {
			return &node{}
		}
	}
	info := o.lstatTree(p)
	n := &node{
		kind: info.Type, mode: info.Mode, uid: info.UID, gid: info.GID, link: info.Link, xattrs: info.Xattrs,
		treePath: p, inode: inode{info.Device, info.Inode},
	}
	o.nodes[p] = n
	return n
}

// read returns the content of a regular file.
func (o *overlay) read(n *node) []byte {
	if !n.contentKnown {
		content, _, err := o.tree.ReadFile(n.treePath)
		o.err = cmp.Or(o.err, err)
		n.content, n.contentKnown = content, true
	}
	return n.content
}

// maxLinks is the maximum number of symbolic links in the resolution of a path, as in the
// kernel.
const maxLinks = 40

// resolve returns the real path of p. Symbolic links in parents are followed inside the tree,
// the last component is not. Missing components are treated as directories.
func (o *overlay) resolve(p string) (string, error) {
	p = path.Clean("/" + p)
	if p == "/" {
		return p, nil
	}
	dir, err := o.follow(path.Dir(p))
	return path.Join(dir, path.Base(p)), err
}

// follow returns the real path of the target of p, which may be missing.
func (o *overlay) follow(p string) (string, error) {
	real, _, err := o.walk(p, false)
	return real, err
}

// walk resolves all components of p. If mustExist is true, found is false at a component that is
// missing or below no directory. Links of unprivileged users are followed only to existing files of
// the same user, as in hostfs.Tree.
func (o *overlay) walk(p string, mustExist bool) (real string, found bool, err error) {
	real, links := "/", 0
	guard := o.tree.GuardLinks(p)
	rest := strings.Split(p, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		next := path.Join(real, name) // also for "", "." and ".."
		n := o.lstat(next)
		if n.kind != hostfs.Symlink {
			// A node leads to the remaining components if it can contain them.
			if mustExist && n.kind != hostfs.Directory && (n.kind == hostfs.Absent || len(rest) > 0) {
				return "", false, nil
			}
			real = next
			owner := n.uid
			if n.kind == hostfs.Absent {
				owner = -1
			}
			if err := guard.Arrive(owner, len(rest)); err != nil {
				return "", false, linkObstacle(p, err)
			}
			continue
		}
		if links++; links > maxLinks {
			return "", false, newObstacle("%s contains more than %d symbolic links", p, maxLinks)
		}
		if err := guard.Follow(name, o.lstat(real).uid, n.uid, len(rest)); err != nil {
			return "", false, linkObstacle(p, err)
		}
		if path.IsAbs(n.link) {
			real = "/"
		}
		rest = append(strings.Split(n.link, "/"), rest...)
	}
	return real, true, nil
}

// isSameFile reports whether two nodes are the same file.
func (n *node) isSameFile(other *node) bool {
	return n == other || (n.inode != inode{} && n.inode == other.inode)
}

func (n *node) String() string {
	if n.kind == hostfs.Symlink {
		return fmt.Sprintf("link to %s", n.link)
	}
	return string(n.kind)
}
