package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked means that another process has the ledger open for writing.
var ErrLocked = errors.New("another hcp-node-agent is changing this host; wait for it to end")

// A process that was killed while it started a program leaves, for the moment
// between fork and exec, a child that has the lock still. No agent that lives
// is waited for: it has the lock much longer.
const (
	lockTries = 50
	lockPause = 20 * time.Millisecond
)

// openLocked opens the ledger's file and takes its lock. Who had the lock can
// have removed the file meanwhile (Forget): then the lock is that of a file that
// nobody else will find, and a new one is opened.
func openLocked(name string, pause func()) (*os.File, error) {
	for {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening ledger: %w", err)
		}
		if err := lock(int(file.Fd()), pause); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		there, err := stillNamed(file, name)
		if err == nil && there {
			return file, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("opening ledger: %w", err)
		}
	}
}

// stillNamed tells whether a name still leads to a file that is open.
func stillNamed(file *os.File, name string) (bool, error) {
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

// lock takes the lock of the ledger's file; pause is called between two tries.
func lock(fd int, pause func()) error {
	for try := 1; ; try++ {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("locking ledger: %w", err)
		case try == lockTries:
			return ErrLocked
		default:
			pause()
		}
	}
}
