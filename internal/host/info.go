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
	info, err := where.info()
	if err != nil {
		return Info{}, fmt.Errorf("looking at %s: %w", p, err)
	}
	return info, nil
}

// info tells what is at the place; nothing there is Info{} and no error.
func (p place) info() (Info, error) {
	file, err := p.open(unix.O_PATH)
	if absent(err) {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, err
	}
	defer file.Close()
	return infoOf(file)
}

// infoOf looks only at what is open (with O_PATH is enough), so that type, owner
// and attributes are of one and the same thing while names are swapped.
func infoOf(file *os.File) (Info, error) {
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
		target, err := readLink(file)
		if err != nil {
			return Info{}, err
		}
		info.Link = target
	default:
		info.Type = Other
	}
	// The calls on descriptors refuse O_PATH; by this name they reach the same
	// thing, also a symbolic link itself.
	xattrs, err := listXattrs(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	info.Xattrs = xattrs
	return info, err
}

func readLink(link *os.File) (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(link.Fd()), "", target)
	if err != nil {
		return "", fmt.Errorf("reading link: %w", err)
	}
	return string(target[:n]), nil
}

func listXattrs(p string) (map[string][]byte, error) {
	size, err := unix.Listxattr(p, nil)
	if errors.Is(err, unix.ENOTSUP) || (err == nil && size == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing extended attributes: %w", err)
	}
	names := make([]byte, size)
	if size, err = unix.Listxattr(p, names); err != nil {
		return nil, fmt.Errorf("listing extended attributes: %w", err)
	}
	xattrs := map[string][]byte{}
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:size]), "\x00"), "\x00") {
		n, err := unix.Getxattr(p, name, value)
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			continue // listed but not ours to read, as security.* can be in a container
		}
		if err != nil {
			return nil, fmt.Errorf("reading extended attribute %s: %w", name, err)
		}
		xattrs[name] = append([]byte{}, value[:n]...)
	}
	return xattrs, nil
}

// readAll reads a file whose size is known, and more of it when it grew.
func readAll(file *os.File, size int64) ([]byte, error) {
	content := make([]byte, 0, size+1)
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := file.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
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
