package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// errForgotten is why nothing more can be written.
var errForgotten = errors.New("the ledger was given up; open it again")

// Forget deletes the ledger's file and the kept originals (they can hold
// secrets) durably, once nothing is left to be given back. The directory is then
// as empty as it was before Open.
func (l *Ledger) Forget() error {
	if left := len(l.Items()); left > 0 {
		return fmt.Errorf("forgetting the ledger: %d things are not given back yet", left)
	}
	l.broken = errForgotten
	return host.RemoveSynced(filepath.Join(l.dir, "originals"), filepath.Join(l.dir, "ledger.log"))
}

// Discard is Forget for changes that shall stay for good: nothing can be given
// back any more. The file goes first, and durably, so that a kill leaves either
// all that is needed to give everything back, or nothing to be given back. Of a
// ledger that nothing was written to, there is nothing to be durable.
func (l *Ledger) Discard() error {
	l.broken = errForgotten
	if err := os.Remove(filepath.Join(l.dir, "ledger.log")); err != nil {
		return fmt.Errorf("discarding the ledger: %w", err)
	}
	if len(l.records) > 0 {
		if err := l.syncDir(); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(l.dir, "originals"))
}

func (l *Ledger) syncDir() error {
	tree, err := host.OpenTree(l.dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncDir("/")
}
