package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

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

// lockTimeout is the timeout of lckpwdf(3).
const lockTimeout = 15 * time.Second

// Lock locks the file p in the way of lckpwdf(3), so that the commands of
// shadow-utils wait. Closing the returned file releases the lock. Lock fails
// after 15 seconds.
func (t *Tree) Lock(ctx context.Context, p string) (*os.File, error) {
	where, err := t.openParent(p)
	if err != nil {
		return nil, err
	}
	defer where.parent.Close()
	fd, err := unix.Openat(where.fd(), where.base, unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", p, err)
	}
	file := os.NewFile(uintptr(fd), p)
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		// An open file description lock, which also conflicts with process locks.
		err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", p, err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("locking %s: another program is changing users or groups: %w", p, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Processes returns the processes that run as a user, by real, effective, saved
// or file system user ID, like userdel(8).
func Processes(uid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // the process has exited
		}
		if runsAs(string(status), uid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func runsAs(status string, uid int) bool {
	for line := range strings.Lines(status) {
		ids, found := strings.CutPrefix(line, "Uid:")
		if !found {
			continue
		}
		for _, id := range strings.Fields(ids) {
			if id == strconv.Itoa(uid) {
				return true
			}
		}
	}
	return false
}
