// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// FileType is the type of a file.
type FileType string

// The file types that the agent distinguishes.
const (
	Absent    FileType = ""
	Regular   FileType = "file"
	Directory FileType = "directory"
	Symlink   FileType = "link"
	Other     FileType = "special file"
)

// Enum returns the types of existing files.
func (FileType) Enum() []string {
	return []string{string(Regular), string(Directory), string(Symlink), string(Other)}
}

// Info describes a file, with everything that is needed to restore it except
// the content.
type Info struct {
	Type     FileType
	Mode     uint32 // permission, setuid, setgid and sticky bits
	UID, GID int
	Size     int64
	Link     string // target of a symbolic link
	Device   uint64
	Inode    uint64
	Changed  time.Time         // ctime: an older file that was renamed into place counts as changed
	Xattrs   map[string][]byte // all that can be listed, including SELinux label and ACLs
}

// Attr returns the owner, mode and extended attributes of the file, for a file that
// replaces it.
func (i Info) Attr() Attr {
	return Attr{Mode: i.Mode, UID: i.UID, GID: i.GID, Xattrs: i.Xattrs}
}

// Lstat returns the Info of p. A missing file yields Info{} and no error.
func (t *Tree) Lstat(p string) (info Info, err error) {
	err = t.inExisting(p, "reading the attributes of", func(where pathEntry) error {
		info, err = where.info()
		return err
	})
	return info, err
}

// info returns the Info of the file. A missing file yields Info{} and no error.
func (p pathEntry) info() (Info, error) {
	file, err := p.open(unix.O_PATH)
	if IsNotExist(err) {
		return Info{}, nil
	}
	if err != nil {
		return Info{}, err
	}
	defer file.Close()
	return infoOf(file)
}

// infoOf only uses the open file, for which O_PATH suffices, so that type,
// owner and attributes belong to the same file even if names change
// concurrently.
func infoOf(file *os.File) (Info, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return Info{}, err
	}
	info := Info{
		Mode:    stat.Mode & 0o7777,
		UID:     int(stat.Uid),
		GID:     int(stat.Gid),
		Size:    stat.Size,
		Device:  stat.Dev,
		Inode:   stat.Ino,
		Changed: time.Unix(stat.Ctim.Unix()),
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
	// The calls on descriptors refuse O_PATH. This path refers to the same file,
	// even if that is a symbolic link.
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
		if name == "" {
			continue // the last attribute was removed between the two calls
		}
		n, err := unix.Getxattr(p, name, value)
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			continue // listed but not readable, such as security.* in a container
		}
		if err != nil {
			return nil, fmt.Errorf("reading extended attribute %s: %w", name, err)
		}
		xattrs[name] = append([]byte{}, value[:n]...)
	}
	return xattrs, nil
}
