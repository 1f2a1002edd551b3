// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process has the ledger open for writing.
var ErrLocked = errors.New("another hcp-node-agent process is changing this host; wait until it exits")

// A killed process can leave a child that holds the lock between fork and exec, so lock
// retries for one second. This does not wait for another running agent.
const (
	lockTries = 50
	lockPause = 20 * time.Millisecond
)

// openLocked opens the ledger's file and locks it. The previous owner of the lock may have
// deleted the file (Remove). The lock is then useless, because no other process can open
// the deleted file, so a new file is created.
func openLocked(name string, pause func()) (*os.File, error) {
	for {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening the ledger: %w", err)
		}
		if err := lock(int(file.Fd()), pause); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		there, err := refersTo(file, name)
		if err == nil && there {
			return file, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("opening the ledger: %w", err)
		}
	}
}

// refersTo reports whether name still refers to the open file.
func refersTo(file *os.File, name string) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, now), err
}

// lock locks the ledger's file. It calls pause between two attempts.
func lock(fd int, pause func()) error {
	for try := 1; ; try++ {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("locking the ledger: %w", err)
		case try == lockTries:
			return ErrLocked
		default:
			pause()
		}
	}
}

// IsLocked reports whether another process is changing the host. It holds the lock briefly,
// as concurrent callers can. Open therefore retries for a second.
func IsLocked(dir string) (bool, error) {
	log, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the ledger: %w", err)
	}
	defer log.Close() // releases the lock
	err = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
