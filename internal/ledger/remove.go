// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// errRemoved is the error of a write after Remove or Discard.
var errRemoved = errors.New("the ledger was removed; open it again")

// Remove durably deletes the ledger's file and the saved originals, which can contain
// secrets. It fails if anything is left to be restored. The directory is then as empty as
// before Open.
func (l *Ledger) Remove() error {
	if left := len(l.Items()); left > 0 {
		return fmt.Errorf("removing the ledger: %d changes are not restored yet", left)
	}
	l.writeErr = errRemoved
	if err := hostfs.RemoveSynced(filepath.Join(l.dir, originalsName)); err != nil {
		return err // originals without a log are an error of the next run
	}
	return hostfs.RemoveSynced(filepath.Join(l.dir, logName))
}

// Discard makes the changes permanent: it deletes the ledger like Remove, but nothing can
// be restored afterwards. The log is truncated to its header first and durably. An interruption
// thus leaves either everything that a rollback needs, or nothing to be rolled back. A ledger
// without records needs no sync.
func (l *Ledger) Discard() error {
	l.writeErr = errRemoved
	if len(l.records) > 0 {
		header, err := l.records[0].line()
		if err == nil {
			err = errors.Join(l.log.Truncate(int64(len(header))), l.syncLog())
		}
		if err != nil {
			return fmt.Errorf("discarding the ledger: %w", err)
		}
	}
	if err := hostfs.RemoveAll(filepath.Join(l.dir, originalsName)); err != nil {
		return fmt.Errorf("discarding the ledger: %w", err)
	}
	return hostfs.RemoveAll(filepath.Join(l.dir, logName))
}
