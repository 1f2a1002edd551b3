package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Whatever gets a name in the tree is made whole under a temporary one beside
// it and then renamed, so that nobody sees it without its content, owner, mode
// and label.

// temporaryName is the name beside a target under which it is made. It follows
// from the target alone, so that what a killed run left behind can be found.
func temporaryName(base string) string {
	sum := sha256.Sum256([]byte(base))
	return ".hcp-node-agent." + hex.EncodeToString(sum[:8])
}

// clearTemporary removes what a killed run left under a temporary name.
func clearTemporary(where place, name string) error {
	err := unix.Unlinkat(where.fd(), name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(where.fd(), name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// makeTemporary makes something beside where that must not be there yet. What a
// killed run left is removed, which is seldom there and so not looked for first.
func makeTemporary(where place, make func(name string) error) (string, error) {
	name := temporaryName(where.base)
	err := make(name)
	if errors.Is(err, unix.EEXIST) {
		if err = clearTemporary(where, name); err == nil {
			err = make(name)
		}
	}
	return name, err
}

// createTemporary opens a new file beside where.
func createTemporary(where place) (file *os.File, name string, err error) {
	name, err = makeTemporary(where, func(name string) error {
		fd, err := unix.Openat(where.fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err == nil {
			file = os.NewFile(uintptr(fd), name)
		}
		return err
	})
	return file, name, err
}

// fill gives a new file its content and attributes. It was created 0600 and
// gets its owner before its mode, so that no secret is readable by others at
// any moment.
func fill(file *os.File, content []byte, attr Attr) error {
	if _, err := file.Write(content); err != nil {
		return err
	}
	return attr.set(file)
}

// RemoveTemporary removes what a killed run left beside p.
func (t *Tree) RemoveTemporary(p string) error {
	where, err := t.at(p)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer where.parent.Close()
	name := temporaryName(where.base)
	if err := clearTemporary(where, name); err != nil {
		return fmt.Errorf("removing %s beside %s, which a killed run left: %w", name, p, err)
	}
	return nil
}
