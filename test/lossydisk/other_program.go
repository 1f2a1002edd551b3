// SPDX-License-Identifier: Apache-2.0

package lossydisk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// OtherProgram writes to the file systems like another program of the host, such as journald, until the returned
// function is called. Each of its syncs can make changes of the journal durable that a test made a moment earlier,
// without the contents of their files.
func (r *Recording) OtherProgram(t *testing.T, random *rand.Rand) (stop func()) {
	t.Helper()
	random = rand.New(rand.NewPCG(random.Uint64(), 0)) //nolint:gosec // must be repeatable
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			name := filepath.Join(r.Points[random.IntN(len(r.Points))], "other-program")
			err := appendSynced(name, random.IntN(32<<10))
			if random.IntN(8) == 0 {
				err = errors.Join(err, Sync(r.Points))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(done); running.Wait() })
}

// appendSynced appends to a file, which it removes first when it is large.
func appendSynced(name string, size int) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(bytes.Repeat([]byte{'x'}, size))
	err = errors.Join(err, file.Sync())
	if info, statErr := file.Stat(); statErr == nil && info.Size() > 1<<20 {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, file.Close())
}

// Sync makes everything in the file systems of the directories durable.
func Sync(points []string) error {
	var errs []error
	for _, point := range points {
		dir, err := os.Open(point)
		if err == nil {
			err = errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
