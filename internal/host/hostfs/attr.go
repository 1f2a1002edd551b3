// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SELinuxXattr is the name of the extended attribute that contains the SELinux label.
const SELinuxXattr = "security.selinux"

// Attr contains the desired owner, mode and attributes of a file or directory.
type Attr struct {
	Mode     uint32
	UID, GID int
	Xattrs   map[string][]byte // set exactly; nil keeps what the file system assigns
	// Label is the SELinux label of a new file, set before the file gets its name.
	// If the kernel refuses it, the file keeps the label of the directory, and a
	// later relabeling reports the error.
	Label []byte
}

// AgentAttr returns the attributes of one of the agent's own files.
func AgentAttr(mode uint32) Attr {
	return Attr{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
}

// set applies a to an open file or directory. The owner is changed first,
// because that clears setuid, setgid and file capabilities.
func (a Attr) set(file *os.File) error {
	fd := int(file.Fd())
	return errors.Join(file.Chown(a.UID, a.GID), unix.Fchmod(fd, a.Mode&0o7777),
		a.setXattrs(func(name string, value []byte) error { return unix.Fsetxattr(fd, name, value, 0) }))
}

// setLink applies a to the symbolic link at where. It uses the path, because a
// link cannot be opened for this. The system calls do not follow the link.
func (a Attr) setLink(where pathEntry) error {
	name := fmt.Sprintf("/proc/self/fd/%d/%s", where.fd(), where.base)
	return errors.Join(unix.Fchownat(where.fd(), where.base, a.UID, a.GID, unix.AT_SYMLINK_NOFOLLOW),
		a.setXattrs(func(attribute string, value []byte) error { return unix.Lsetxattr(name, attribute, value, 0) }))
}

// setXattrs sets the extended attributes by set. A restored file has its own label.
func (a Attr) setXattrs(set func(name string, value []byte) error) error {
	var errs []error
	for name, value := range a.Xattrs {
		if err := set(name, value); err != nil {
			errs = append(errs, fmt.Errorf("setting extended attribute %s: %w", name, err))
		}
	}
	if _, given := a.Xattrs[SELinuxXattr]; len(a.Label) > 0 && !given {
		_ = set(SELinuxXattr, a.Label) // see Attr.Label
	}
	return errors.Join(errs...)
}
