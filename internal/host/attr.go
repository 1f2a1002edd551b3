package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// selinuxLabel is the extended attribute that holds the SELinux label.
const selinuxLabel = "security.selinux"

// Attr is how a file or directory shall be owned and protected.
type Attr struct {
	Mode     uint32
	UID, GID int
	Xattrs   map[string][]byte // set as they are; nil leaves what the file system gives
	// Label is the SELinux label of something new, before it has its name. A
	// kernel that does not take it leaves the label of the directory; whoever
	// relabels afterwards then says why.
	Label []byte
}

// set gives an open file or directory its owner, mode and attributes. A change
// of owner clears setuid, setgid and file capabilities, so it comes first.
func (a Attr) set(file *os.File) error {
	fd := int(file.Fd())
	errs := []error{file.Chown(a.UID, a.GID), unix.Fchmod(fd, a.Mode&0o7777)}
	for name, value := range a.Xattrs {
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			errs = append(errs, fmt.Errorf("setting extended attribute %s: %w", name, err))
		}
	}
	if a.labels() {
		_ = unix.Fsetxattr(fd, selinuxLabel, a.Label, 0) // see Attr.Label
	}
	return errors.Join(errs...)
}

// setLink gives the symbolic link at where its owner and attributes. It is
// named by its path, as a link cannot be opened for this; the calls do not
// follow it.
func (a Attr) setLink(where place) error {
	errs := []error{unix.Fchownat(where.fd(), where.base, a.UID, a.GID, unix.AT_SYMLINK_NOFOLLOW)}
	for name, value := range a.Xattrs {
		if err := unix.Lsetxattr(where.proc(), name, value, 0); err != nil {
			errs = append(errs, fmt.Errorf("setting extended attribute %s: %w", name, err))
		}
	}
	if a.labels() {
		_ = unix.Lsetxattr(where.proc(), selinuxLabel, a.Label, 0) // see Attr.Label
	}
	return errors.Join(errs...)
}

// labels tells whether Label counts: what is put back has its own.
func (a Attr) labels() bool {
	_, given := a.Xattrs[selinuxLabel]
	return len(a.Label) > 0 && !given
}
