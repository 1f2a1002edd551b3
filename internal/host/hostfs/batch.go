// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// Batch replaces many files at once: it writes all new contents to temporary
// files in the target directories, makes them durable with one sync per file
// system (not one per file), and renames them into place. A reader sees the
// complete old or new file, never a part.
//
// The sync is syncfs, not fsync of each file: on ext4, 5 kB files in 20
// directories, staged, made durable and renamed, took with syncfs (with fsync
// of one after the other, with fsync by 16 threads) 5 ms (40, 13) for 54 files,
// 35 ms (190, 70) for 540 and 1.1 s (2.6, 1.4) for 5400. It was no slower while
// another process wrote 200 MB/s to the same file system. The cost is that
// syncfs waits for the unsynced data of other processes. With the journal of
// ext4 and xfs, fsync waits for part of that too.
type Batch struct {
	tree    *Tree
	staged  []stagedFile
	parents map[fileID]*os.File // one open handle per directory, not per file
	byPath  map[string]fileID   // keys of parents by path, until a link can have changed
	devices map[uint64]*os.File // one open file per file system, for syncfs
}

// fileID identifies a file or directory, independent of its names.
type fileID struct{ device, inode uint64 }

type stagedFile struct {
	where     pathEntry
	in        fileID // the directory of the temporary file
	temporary string
	path      string
}

// NewBatch returns an empty batch.
func (t *Tree) NewBatch() *Batch {
	return &Batch{
		tree: t, parents: map[fileID]*os.File{}, byPath: map[string]fileID{}, devices: map[uint64]*os.File{},
	}
}

// Stage writes content to a temporary file beside p, with its final owner, mode
// and attributes. After an error the file is not part of the batch: Stage
// removes an incomplete file, and no later call renames it into place.
func (b *Batch) Stage(p string, content []byte, attr Attr) error {
	where, in, err := b.openParent(p)
	if err != nil {
		return err
	}
	file, name, err := createTemporary(where)
	if err != nil {
		return fmt.Errorf("writing %s: %w", p, err)
	}
	if err = writeContent(file, content, attr); err != nil {
		file.Close()
	} else {
		err = b.keepDevice(in.device, file) // as the directory, the file is on this file system
	}
	if err != nil {
		_ = unix.Unlinkat(where.fd(), name, 0) // a later run removes it anyway
		return fmt.Errorf("writing %s: %w", p, err)
	}
	b.staged = append(b.staged, stagedFile{where: where, in: in, temporary: name, path: p})
	return nil
}

// ReplaceFile replaces the file p atomically and durably.
func (t *Tree) ReplaceFile(p string, content []byte, attr Attr) error {
	batch := t.NewBatch()
	defer batch.Abort()
	if err := batch.Stage(p, content, attr); err != nil {
		return err
	}
	return batch.Commit()
}

// openParent opens the parent of p. The batch closes it.
func (b *Batch) openParent(p string) (pathEntry, fileID, error) {
	dir, base := path.Split(path.Clean("/" + p))
	if in, found := b.byPath[dir]; found && base != "" {
		return pathEntry{parent: b.parents[in], base: base}, in, nil
	}
	where, err := b.tree.openParent(p)
	if err != nil {
		return pathEntry{}, fileID{}, err
	}
	in, err := fileIDOf(where.parent)
	if err != nil {
		where.parent.Close()
		return pathEntry{}, fileID{}, fmt.Errorf("resolving %s: %w", p, err)
	}
	if open := b.parents[in]; open != nil {
		where.parent.Close()
		where.parent = open
	} else {
		b.parents[in] = where.parent
	}
	b.byPath[dir] = in
	return where, in, nil
}

func fileIDOf(file *os.File) (fileID, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return fileID{}, err
	}
	return fileID{device: stat.Dev, inode: stat.Ino}, nil
}

// IsStaged reports whether a file is staged for p, by that name or another.
func (b *Batch) IsStaged(p string) (bool, error) {
	if len(b.staged) == 0 {
		return false, nil
	}
	where, in, err := b.openParent(p)
	if IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, s := range b.staged {
		if s.in == in && s.where.base == where.base {
			return true, nil
		}
	}
	return false, nil
}

// Touch records that p is created, changed or removed outside of the batch, so
// that Sync makes that durable too.
func (b *Batch) Touch(p string) error {
	clear(b.byPath) // p can be a link in a path
	if b.tree.skipsSyncs {
		return nil
	}
	dir, err := b.tree.OpenDir(path.Dir(path.Clean("/" + p)))
	if IsNotExist(err) {
		return nil // p does not exist, and will not after a power loss
	}
	if err != nil {
		return err
	}
	is, err := fileIDOf(dir)
	if err != nil {
		dir.Close()
		return err
	}
	return b.keepDevice(is.device, dir)
}

// keepDevice keeps one file open per file system and closes the others.
func (b *Batch) keepDevice(device uint64, file *os.File) error {
	if b.devices[device] != nil {
		return file.Close()
	}
	b.devices[device] = file
	return nil
}

// Commit makes the staged files durable, renames them into place and makes the
// renames durable too. After an error some targets may be new and some old; the
// ledger contains the desired ones.
func (b *Batch) Commit() error {
	defer b.Abort()
	if err := b.Rename(); err != nil {
		return err
	}
	return b.Sync()
}

// Rename makes the staged files durable and renames all of them into place. The
// error names each path that was not replaced. The new names are durable after
// Sync.
func (b *Batch) Rename() error {
	failed, err := b.RenameEach()
	for _, p := range slices.Sorted(maps.Keys(failed)) {
		err = errors.Join(err, failed[p])
	}
	return err
}

// RenameEach does the same as Rename for callers that need to know which files
// were replaced. The map contains the error of each path, as staged, that could
// not be replaced. If RenameEach returns an error, nothing was renamed.
func (b *Batch) RenameEach() (map[string]error, error) {
	if len(b.staged) == 0 {
		return nil, nil
	}
	if err := b.Sync(); err != nil {
		return nil, err
	}
	failed := map[string]error{}
	var left []stagedFile
	for _, s := range b.staged {
		if err := unix.Renameat(s.where.fd(), s.temporary, s.where.fd(), s.where.base); err != nil {
			failed[s.path] = fmt.Errorf("renaming into %s: %w", s.path, err)
			left = append(left, s)
		}
	}
	b.staged = left
	return failed, nil
}

// Sync makes everything durable that was staged, renamed or touched, with one
// syncfs per file system, unless the tree skips syncs.
func (b *Batch) Sync() error {
	if b.tree.skipsSyncs {
		return nil
	}
	var errs []error
	for _, file := range b.devices {
		if err := unix.Syncfs(int(file.Fd())); err != nil {
			errs = append(errs, fmt.Errorf("syncing file system: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Abort removes the files that were staged and not renamed. It can be called
// more than once.
func (b *Batch) Abort() {
	for _, s := range b.staged {
		_ = unix.Unlinkat(s.where.fd(), s.temporary, 0) // a later run removes it anyway
	}
	for _, parent := range b.parents {
		parent.Close()
	}
	for _, file := range b.devices {
		file.Close()
	}
	b.staged, b.parents, b.devices = nil, map[fileID]*os.File{}, map[uint64]*os.File{}
	clear(b.byPath)
}
