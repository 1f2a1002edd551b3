package hostfs

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// Sub opens directory p as a separate tree that symbolic links below it cannot
// leave. It also returns the Info of the directory. With it root can safely
// write to a directory that another user owns and can change at any time, such
// as a home directory.
func (t *Tree) Sub(p string) (*Tree, Info, error) {
	clean := path.Clean("/" + p)
	root, err := t.lookup(clean, unix.O_PATH)
	if err != nil {
		return nil, Info{}, fmt.Errorf("opening %s: %w", p, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(root.Fd()), &stat); err != nil {
		root.Close()
		return nil, Info{}, fmt.Errorf("opening %s: %w", p, err)
	}
	info := Info{
		Type: Directory, Mode: stat.Mode & 0o7777, UID: int(stat.Uid), GID: int(stat.Gid),
		Device: stat.Dev, Inode: stat.Ino,
	}
	return &Tree{root: root, name: path.Join(t.name, clean), owner: t.owner, user: t.user}, info, nil
}
