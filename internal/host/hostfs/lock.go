// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"golang.org/x/sys/unix"
)

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
		if err := wait.Sleep(ctx, 50*time.Millisecond); err != nil {
			file.Close()
			return nil, fmt.Errorf("locking %s: another process is changing users or groups: %w", p, err)
		}
	}
}
