// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The files in the directory of a ledger.
const (
	logName       = "ledger.log"
	originalsName = "originals"
)

// Ledger records changes in a directory of its own and makes them.
type Ledger struct {
	dir         string
	log         *os.File
	drivers     Drivers
	records     []record
	namesSynced bool  // the directory entries of the ledger are durable
	needsSync   bool  // an earlier process may have left unsynced records
	writeErr    error // set after a failed append; no change is allowed then
	events      report.Log
}

// LogTo reports each change that is made or restored, and each backup of an edited file, to log.
func (l *Ledger) LogTo(log report.Log) { l.events = log }

// Open opens the ledger in dir, creating both if they do not exist, and truncates an
// incomplete tail. Only one process can have it open: Open fails with ErrLocked otherwise.
// It writes and syncs nothing before the first record, because most runs change nothing.
func Open(dir string, drivers Drivers) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the ledger's directory: %w", err)
	}
	log, err := openLocked(filepath.Join(dir, logName), func() { time.Sleep(lockPause) })
	if err != nil {
		return nil, err
	}
	l := &Ledger{dir: dir, log: log, drivers: drivers}
	if err := l.load(); err != nil {
		log.Close()
		return nil, err
	}
	return l, nil
}

// OpenReadOnly reads the ledger in dir without a lock, for display. The ledger is empty if the file
// does not exist.
func OpenReadOnly(dir string, drivers Drivers) (*Ledger, error) {
	l := &Ledger{dir: dir, drivers: drivers, writeErr: errors.New("the ledger is open read-only")}
	content, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if l.records, _, err = parse(content); err != nil {
		return l, damagedError(dir, err)
	}
	return l, l.checkRecords()
}

// checkRecords fails if the records cannot be used to restore the host.
func (l *Ledger) checkRecords() error {
	return cmp.Or(l.checkComplete(), damagedError(l.dir, l.drivers.checkData(l.Items())))
}

// damagedError adds a remedy to the error of an unreadable ledger.
func damagedError(dir string, err error) error {
	if err == nil || report.CodeOf(err) == report.Refused {
		return err
	}
	name := report.ShellWord(filepath.Join(dir, logName))
	remedy := report.Remedyf("mv %s %s.damaged # only if no change of this host must be restored", name, name)
	return report.Fail(report.Failed, remedy, "%w", err)
}

// checkComplete fails if the ledger has originals but no records. Nothing could be restored, although
// the host was changed.
func (l *Ledger) checkComplete() error {
	if len(l.records) > 0 {
		return nil
	}
	originals := filepath.Join(l.dir, originalsName)
	saved, err := os.ReadDir(originals)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the saved originals: %w", err)
	}
	if len(saved) == 0 {
		return nil
	}
	name := report.ShellWord(originals)
	return report.Fail(report.Failed,
		report.Remedyf("mv %s %s.lost # after the log was restored from a backup of the host, "+
			"or if no change of this host must be restored", name, name),
		"the ledger is incomplete: %s is empty, but %s contains files from before the join (%d)",
		filepath.Join(l.dir, logName), originals, len(saved))
}

// load reads the records from the log, and truncates an incomplete tail.
func (l *Ledger) load() error {
	// After the lock is held: Remove in the previous process may have deleted the
	// directory.
	if err := os.MkdirAll(filepath.Join(l.dir, originalsName), 0o700); err != nil {
		return fmt.Errorf("creating the ledger's directory: %w", err)
	}
	content, err := io.ReadAll(l.log)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	records, good, err := parse(content)
	if err != nil {
		return damagedError(l.dir, err)
	}
	l.records = records
	if err := l.checkRecords(); err != nil {
		return err
	}
	if good < len(content) {
		// Durable before anything is appended: a mixture of old and new bytes would be
		// unreadable.
		if err := errors.Join(l.log.Truncate(int64(good)), l.syncLog()); err != nil {
			return fmt.Errorf("truncating the ledger: %w", err)
		}
	}
	if _, err := l.log.Seek(int64(good), 0); err != nil {
		return fmt.Errorf("seeking in the ledger: %w", err)
	}
	// An interrupted run can have written an intent before it synced the names. A done
	// record is only written after that sync.
	l.namesSynced = slices.ContainsFunc(records, func(r record) bool { return r.Type == done })
	l.needsSync = len(records) > 0
	return nil
}

// Close closes the ledger and releases its lock.
func (l *Ledger) Close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// writeHeader writes the first record of a new log, durably.
func (l *Ledger) writeHeader() error {
	if len(l.records) > 0 {
		return nil
	}
	current := report.Meta(formatKind)
	return l.append(record{Type: header, Meta: &current}, true)
}

// append writes a record to the log. A durable record is synced, with all records before it.
func (l *Ledger) append(r record, durable bool) error {
	if l.writeErr != nil {
		return fmt.Errorf("writing the ledger: %w", l.writeErr)
	}
	if r.Type != header {
		if err := l.writeHeader(); err != nil {
			return err
		}
	}
	r.Seq, r.Time = len(l.records), time.Now().UTC()
	line, err := r.line()
	if err != nil {
		return err
	}
	if l.needsSync { // otherwise the disk could keep this record and lose earlier ones
		err = l.syncLog()
		l.needsSync = err != nil
	}
	if err == nil {
		_, err = l.log.Write(line)
	}
	if err != nil {
		l.writeErr = err
		return fmt.Errorf("writing the ledger: %w", err)
	}
	if durable {
		if err := l.sync(); err != nil {
			l.writeErr = err
			return fmt.Errorf("syncing the ledger: %w", err)
		}
	}
	l.records = append(l.records, r)
	return nil
}

// sync makes all records durable, and once the directory entries of the log and of originals, and
// those of their parent directories, which can be new too. The parents are on the same file system,
// or are its mount point.
func (l *Ledger) sync() error {
	if err := l.syncLog(); err != nil || l.namesSynced {
		return err
	}
	tree, err := l.openDir()
	if err != nil {
		return err
	}
	defer tree.Close()
	err = tree.SyncFileSystem("/")
	l.namesSynced = err == nil
	return err
}

// syncLog makes all records durable, unless the tree of the paths skips syncs.
func (l *Ledger) syncLog() error {
	if l.drivers.skipSyncs() {
		return nil
	}
	return l.log.Sync()
}

// openDir opens the directory of the ledger. It skips syncs if the tree of the paths does.
func (l *Ledger) openDir() (*hostfs.Tree, error) {
	tree, err := hostfs.OpenTree(l.dir)
	if err == nil && l.drivers.skipSyncs() {
		tree.SkipSyncs()
	}
	return tree, err
}
