package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FileType is what is at a path.
type FileType string

// The types that the agent tells apart.
const (
	Absent    FileType = ""
	Regular   FileType = "file"
	Directory FileType = "directory"
	Symlink   FileType = "link"
	Other     FileType = "special file"
)

// Info is what is at a path, all that is needed to put it back.
type Info struct {
	Type     FileType
	Mode     uint32 // permission, setuid, setgid and sticky bits
	UID, GID int
	Size     int64
	Link     string // target of a symbolic link
	Device   uint64
	Inode    uint64
	Changed  time.Time         // ctime: also an older file that was renamed into place counts as changed
	Xattrs   map[string][]byte // all that can be listed, SELinux label and ACLs among them
}

// Lstat tells what is at p; nothing there is Info{} and no error.
func (t *Tree) Lstat(p string) (Info, error) {
	where, err := t.at(p)
	if absent(err) {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, err
	}
	defer where.parent.Close()
	file, err := where.open(unix.O_PATH)
	if absent(err) {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, fmt.Errorf("looking at %s: %w", p, err)
	}
	defer file.Close()
	info, err := infoOf(file, where)
	if err != nil {
		return Info{}, fmt.Errorf("looking at %s: %w", p, err)
	}
	return info, nil
}

func infoOf(file *os.File, where place) (Info, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return Info{}, err
	}
	info := Info{
		Mode: stat.Mode & 0o7777, UID: int(stat.Uid), GID: int(stat.Gid),
		Size: stat.Size, Device: stat.Dev, Inode: stat.Ino, Changed: time.Unix(stat.Ctim.Unix()),
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		info.Type = Regular
	case unix.S_IFDIR:
		info.Type = Directory
	case unix.S_IFLNK:
		info.Type = Symlink
		target, err := os.Readlink(where.proc())
		if err != nil {
			return Info{}, err
		}
		info.Link = target
	default:
		info.Type = Other
	}
	xattrs, err := listXattrs(where.proc())
	info.Xattrs = xattrs
	return info, err
}

func listXattrs(p string) (map[string][]byte, error) {
	size, err := unix.Llistxattr(p, nil)
	if errors.Is(err, unix.ENOTSUP) || (err == nil && size == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing extended attributes: %w", err)
	}
	names := make([]byte, size)
	if size, err = unix.Llistxattr(p, names); err != nil {
		return nil, fmt.Errorf("listing extended attributes: %w", err)
	}
	xattrs := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:size]), "\x00"), "\x00") {
		value := make([]byte, 64<<10) // XATTR_SIZE_MAX
		n, err := unix.Lgetxattr(p, name, value)
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			continue // listed but not ours to read, as security.* can be in a container
		}
		if err != nil {
			return nil, fmt.Errorf("reading extended attribute %s: %w", name, err)
		}
		xattrs[name] = value[:n:n]
	}
	return xattrs, nil
}

func setXattrs(p string, xattrs map[string][]byte) error {
	var errs []error
	for name, value := range xattrs {
		if err := unix.Lsetxattr(p, name, value, 0); err != nil {
			errs = append(errs, fmt.Errorf("setting extended attribute %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func readAll(file *os.File, size int64) ([]byte, error) {
	content := make([]byte, 0, size+1)
	buffer := make([]byte, 64<<10)
	for {
		n, err := file.Read(buffer)
		content = append(content, buffer[:n]...)
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func sortedStrings(s []string) []string {
	sort.Strings(s)
	return s
}
