package host

import (
	"os"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

// lookup opens what the clean path p leads to, links followed inside the tree
// only. Flags are those of open(2).
//
// It is the one call that pathrs makes on a kernel with openat2; pathrs then asks
// /proc for the real name, which takes five more and is of no use here. What
// the kernel does not answer plainly (it has no openat2, a filter forbids it,
// somebody renames all the time) is left to pathrs.
func (t *Tree) lookup(p string, flags int) (*os.File, error) {
	fd, err := unix.Openat2(int(t.root.Fd()), p, &unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC, //nolint:gosec // they are constants
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil {
		return os.NewFile(uintptr(fd), p), nil
	}
	if absent(err) {
		return nil, &os.PathError{Op: "openat2", Path: p, Err: err}
	}
	return t.lookupSlowly(p, flags)
}

func (t *Tree) lookupSlowly(p string, flags int) (*os.File, error) {
	handle, err := pathrs.OpenatInRoot(t.root, p)
	if err != nil || flags&unix.O_PATH != 0 {
		return handle, err
	}
	defer handle.Close()
	return pathrs.Reopen(handle, flags|unix.O_CLOEXEC)
}
