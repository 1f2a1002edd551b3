package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Ledger records changes in a directory of its own and makes them.
type Ledger struct {
	dir     string
	log     *os.File
	drivers map[Kind]Driver
	records []record
	named   bool  // that there is a ledger is durable
	behind  bool  // an earlier process may not have synced what it wrote
	broken  error // after a failed append nothing more may be changed

	// Tell is told of every change that was made or given back, for logs; it can
	// be nil.
	Tell func(c Change)
}

// Open opens the ledger in dir, making both where they are missing, and cuts
// off a torn tail. Only one process can have it open. Nothing is written or
// synced before the first record: most runs find nothing to be changed.
func Open(dir string, drivers map[Kind]Driver) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the ledger's directory: %w", err)
	}
	log, err := openLocked(filepath.Join(dir, "ledger.log"), func() { time.Sleep(lockPause) })
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

// View reads the ledger in dir without a lock, to show what it holds. It is
// empty where there is none.
func View(dir string, drivers map[Kind]Driver) (*Ledger, error) {
	l := &Ledger{dir: dir, drivers: drivers, broken: errors.New("the ledger was opened for reading")}
	content, err := os.ReadFile(filepath.Join(dir, "ledger.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ledger: %w", err)
	}
	l.records, _, err = parse(content)
	return l, damaged(dir, err)
}

// damaged adds a remedy to an error of a ledger that cannot be read.
func damaged(dir string, err error) error {
	if err == nil {
		return nil
	}
	name := report.ShellWord(filepath.Join(dir, "ledger.log"))
	return report.Fail(report.Failed, fmt.Sprintf("mv %s %s.damaged # only if nothing on this host is to be restored", name, name), "%w", err)
}

func (l *Ledger) load() error {
	// Not before the lock is held: who had it can have removed them (Forget).
	if err := os.MkdirAll(filepath.Join(l.dir, "originals"), 0o700); err != nil {
		return fmt.Errorf("making the ledger's directory: %w", err)
	}
	content, err := io.ReadAll(l.log)
	if err != nil {
		return fmt.Errorf("reading ledger: %w", err)
	}
	records, good, err := parse(content)
	if err != nil {
		return damaged(l.dir, err)
	}
	l.records = records
	if good < len(content) {
		// Durable before anything is appended: a mixture of both could not be read.
		if err := errors.Join(l.log.Truncate(int64(good)), l.log.Sync()); err != nil {
			return fmt.Errorf("cutting the torn tail off the ledger: %w", err)
		}
	}
	if _, err := l.log.Seek(int64(good), 0); err != nil {
		return fmt.Errorf("seeking in ledger: %w", err)
	}
	// An intent can be there of a run that was killed before it synced the names;
	// what is done was begun after that.
	l.named = slices.ContainsFunc(records, func(r record) bool { return r.Type == done })
	l.behind = len(records) > 0
	return nil
}

// syncNames makes the names of ledger.log and originals durable, and those of
// the directories that they are in, which can be as new. These are on the same
// file system, or are the mount point of this one.
func (l *Ledger) syncNames() error {
	tree, err := host.OpenTree(l.dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncFileSystem("/")
}

// Close gives the ledger back for others.
func (l *Ledger) Close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

func (l *Ledger) append(r record, durable bool) error {
	if l.broken != nil {
		return fmt.Errorf("writing ledger: %w", l.broken)
	}
	if len(l.records) == 0 && r.Type != header {
		if err := l.append(record{Type: header, Version: formatVersion}, true); err != nil {
			return err
		}
	}
	r.Seq, r.Time = len(l.records), time.Now().UTC()
	line, err := r.line()
	if err != nil {
		return err
	}
	if l.behind { // else a disk could keep the new record and lose those before, which is damage
		err = l.log.Sync()
		l.behind = err != nil
	}
	if err == nil {
		_, err = l.log.Write(line)
	}
	if err != nil {
		l.broken = err
		return fmt.Errorf("writing ledger: %w", err)
	}
	if durable {
		if err := l.sync(); err != nil {
			l.broken = err
			return fmt.Errorf("syncing ledger: %w", err)
		}
	}
	l.records = append(l.records, r)
	return nil
}

func (l *Ledger) sync() error {
	if err := l.log.Sync(); err != nil || l.named {
		return err
	}
	err := l.syncNames()
	l.named = err == nil
	return err
}

func (l *Ledger) driver(kind Kind) (Driver, error) {
	driver := l.drivers[kind]
	if driver == nil {
		return nil, fmt.Errorf("nothing here can change a %s", kind)
	}
	return driver, nil
}

// look asks the driver of a change how the thing is now.
func (l *Ledger) look(ctx context.Context, c Change) (State, error) {
	driver, err := l.driver(c.Kind)
	if err != nil {
		return State{}, err
	}
	return driver.Look(ctx, c)
}
