package entries

import (
	"fmt"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// scene is the tree as it will be: what is there, under what was made and
// removed so far. Its paths are real ones, with no link above them.
type scene struct {
	tree    Tree
	seen    map[string]host.Info // the tree itself
	nodes   map[string]*node     // what differs from it, or was looked at
	cleared map[string]bool      // directories of the tree that were removed with all in them
	touched []*touch
	at      map[string]*touch
}

// node is one thing in the scene.
type node struct {
	kind     host.FileType
	mode     uint32
	uid, gid int
	link     string // of a symbolic link
	xattrs   map[string][]byte

	content []byte // of a regular file, once known
	known   bool
	from    string // the path in the tree, of a file that is there
	inode   inode  // of what is there

	made    bool         // all of it is wished; else only what given has
	given   ledger.State // mode and owner
	written bool         // and the content
}

type inode struct{ device, number uint64 }

// touch is a path that the config is about.
type touch struct {
	path      string
	why       string
	overwrite bool
	implied   bool   // only a parent of what is wished
	must      string // what to say if it is not in the end as it is now
	hard      string // the path that it is another name of
}

func newScene(tree Tree) *scene {
	return &scene{
		tree: tree, seen: map[string]host.Info{}, nodes: map[string]*node{},
		cleared: map[string]bool{}, at: map[string]*touch{},
	}
}

// before tells what is at a path of the tree itself.
func (s *scene) before(p string) (host.Info, error) {
	if info, seen := s.seen[p]; seen {
		return info, nil
	}
	info, err := s.tree.Lstat(p)
	if err == nil {
		s.seen[p] = info
	}
	return info, err
}

// lstat tells what is at a real path; nothing there is a node of kind Absent.
func (s *scene) lstat(p string) (*node, error) {
	if p == "/" {
		return &node{kind: host.Directory, mode: 0o755}, nil
	}
	if n := s.nodes[p]; n != nil {
		return n, nil
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if s.cleared[dir] {
			return &node{}, nil
		}
	}
	info, err := s.before(p)
	if err != nil {
		return nil, err
	}
	n := &node{
		kind: info.Type, mode: info.Mode, uid: info.UID, gid: info.GID, link: info.Link, xattrs: info.Xattrs,
		from: p, inode: inode{info.Device, info.Inode},
	}
	s.nodes[p] = n
	return n, nil
}

// read gives the content of a regular file.
func (s *scene) read(n *node) ([]byte, error) {
	if !n.known {
		content, _, err := s.tree.ReadFile(n.from)
		if err != nil {
			return nil, err
		}
		n.content, n.known = content, true
	}
	return n.content, nil
}

// mostLinks is how many symbolic links one path can lead over, as in the kernel.
const mostLinks = 40

// resolve gives the real path of p: links above it are followed inside the
// tree, the last component is not. What is missing is taken as a directory.
func (s *scene) resolve(p string) (string, error) {
	p = path.Clean("/" + p)
	if p == "/" {
		return p, nil
	}
	dir, err := s.follow(path.Dir(p))
	return path.Join(dir, path.Base(p)), err
}

// follow gives the real path of what p leads to, whether it is there or not.
func (s *scene) follow(p string) (string, error) {
	real, _, err := s.walk(p, false)
	return real, err
}

// walk is follow. Where there has to be something, it ends as the kernel does
// at what is missing or no directory. Links of unprivileged users are followed to
// what is there and belongs to the same user, as host.Tree does.
func (s *scene) walk(p string, there bool) (real string, found bool, err error) {
	real, links := "/", 0
	guard := s.tree.GuardLinks(p)
	rest := strings.Split(p, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		next := path.Join(real, name) // also of "", "." and ".."
		n, err := s.lstat(next)
		if err != nil {
			return "", false, err
		}
		if n.kind == host.Symlink {
			if links++; links > mostLinks {
				return "", false, inTheWay("%s leads over more than %d symbolic links", p, mostLinks)
			}
			holder, err := s.lstat(real)
			if err == nil {
				err = asObstacle(p, guard.Follow(name, holder.uid, n.uid, len(rest)))
			}
			if err != nil {
				return "", false, err
			}
			if path.IsAbs(n.link) {
				real = "/"
			}
			rest = append(strings.Split(n.link, "/"), rest...)
			continue
		}
		if there && (n.kind == host.Absent || (n.kind != host.Directory && len(rest) > 0)) {
			return "", false, nil
		}
		real = next
		if err := guard.Arrive(n.owner(), len(rest)); err != nil {
			return "", false, asObstacle(p, err)
		}
	}
	return real, true, nil
}

// owner is the user whose the thing is, -1 where nothing is.
func (n *node) owner() int {
	if n.kind == host.Absent {
		return -1
	}
	return n.uid
}

// same tells whether two names are of one file.
func (n *node) same(other *node) bool {
	return n == other || (n.inode != inode{} && n.inode == other.inode)
}

func (n *node) String() string {
	if n.kind == host.Symlink {
		return fmt.Sprintf("link to %s", n.link)
	}
	return string(n.kind)
}
