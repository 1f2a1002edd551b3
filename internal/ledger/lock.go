package ledger

import (
	"errors"
	"fmt"
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
