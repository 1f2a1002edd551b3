package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Attr is how a file or directory shall be owned and protected.
type Attr struct {
	Mode     uint32
	UID, GID int
	Xattrs   map[string][]byte // set as they are; nil leaves what the file system gives
}

// Batch replaces many files at once: all new contents are written beside their
// targets, made durable with one barrier for each file system (not one for
// each file), and then renamed into place. A reader sees the old or the new
// file whole, never a part.
type Batch struct {
	tree    *Tree
	staged  []staged
	devices map[uint64]*os.File // one open file for each file system, to call syncfs on
}

type staged struct {
	where     place
	temporary string
	path      string
}

// NewBatch starts an empty batch.
func (t *Tree) NewBatch() *Batch { return &Batch{tree: t, devices: map[uint64]*os.File{}} }

// Stage writes content beside p with its final owner, mode and attributes.
func (b *Batch) Stage(p string, content []byte, attr Attr) error {
	where, err := b.tree.at(p)
	if err != nil {
		return err
	}
	file, name, err := createTemporary(where)
	if err != nil {
		where.parent.Close()
		return fmt.Errorf("writing %s: %w", p, err)
	}
	b.staged = append(b.staged, staged{where: where, temporary: name, path: p})
	if err := fill(file, where, name, content, attr); err != nil {
		file.Close()
		return fmt.Errorf("writing %s: %w", p, err)
	}
	return b.keepDevice(file)
}

func fill(file *os.File, where place, name string, content []byte, attr Attr) error {
	// The file is created 0600 and gets its owner before its mode, so that no
	// secret is readable by others at any moment.
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Chown(attr.UID, attr.GID); err != nil {
		return err
	}
	if err := unix.Fchmod(int(file.Fd()), attr.Mode&0o7777); err != nil {
		return err
	}
	return setXattrs(place{where.parent, name}.proc(), attr.Xattrs)
}

// createTemporary opens a new file beside where. The name follows from the
// target alone, so that what a killed run left behind is replaced by the next.
func createTemporary(where place) (*os.File, string, error) {
	sum := sha256.Sum256([]byte(where.base))
	name := ".hcp-node-agent." + hex.EncodeToString(sum[:8])
	if err := unix.Unlinkat(where.fd(), name, 0); err != nil && !absent(err) {
		return nil, "", err
	}
	fd, err := unix.Openat(where.fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, "", err
	}
	return os.NewFile(uintptr(fd), name), name, nil
}

// keepDevice keeps one file open for each file system and closes the others.
func (b *Batch) keepDevice(file *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		file.Close()
		return err
	}
	if b.devices[stat.Dev] != nil {
		return file.Close()
	}
	b.devices[stat.Dev] = file
	return nil
}

// Commit makes the staged files durable, renames them into place and makes
// that durable too. After an error some targets may be new and some old; the
// ledger knows which were meant.
func (b *Batch) Commit() error {
	defer b.Abort()
	if err := b.barrier(); err != nil {
		return err
	}
	for i, s := range b.staged {
		if err := unix.Renameat(s.where.fd(), s.temporary, s.where.fd(), s.where.base); err != nil {
			return fmt.Errorf("renaming into %s: %w", s.path, err)
		}
		b.staged[i].temporary = ""
	}
	return b.barrier()
}

func (b *Batch) barrier() error {
	var errs []error
	for _, file := range b.devices {
		if err := unix.Syncfs(int(file.Fd())); err != nil {
			errs = append(errs, fmt.Errorf("syncing file system: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Abort removes what was staged and not committed. It is safe to call twice.
func (b *Batch) Abort() {
	for _, s := range b.staged {
		if s.temporary != "" {
			_ = unix.Unlinkat(s.where.fd(), s.temporary, 0) // a later run replaces it anyway
		}
		s.where.parent.Close()
	}
	for _, file := range b.devices {
		file.Close()
	}
	b.staged, b.devices = nil, map[uint64]*os.File{}
}
