package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Ledger records changes in a directory of its own and makes them.
type Ledger struct {
	dir     string
	log     *os.File
	drivers map[Kind]Driver
	records []record
	broken  error // after a failed append nothing more may be changed
}

// ErrLocked means that another process has the ledger open for writing.
var ErrLocked = errors.New("another hcp-node-agent is changing this host; wait for it to end")

// Open opens the ledger in dir, making both where they are missing, and cuts
// off a torn tail. Only one process can have it open.
func Open(dir string, drivers map[Kind]Driver) (*Ledger, error) {
	if err := makeDirectory(dir); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "ledger.log"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	if err := unix.Flock(int(log.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		log.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking ledger: %w", err)
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
	return l, err
}

func (l *Ledger) load() error {
	content, err := os.ReadFile(l.log.Name())
	if err != nil {
		return fmt.Errorf("reading ledger: %w", err)
	}
	records, good, err := parse(content)
	if err != nil {
		return fmt.Errorf("%w; move %s away only when you know that nothing in it is to be given back", err, l.log.Name())
	}
	l.records = records
	if good < len(content) {
		if err := l.log.Truncate(int64(good)); err != nil {
			return fmt.Errorf("cutting the torn tail off the ledger: %w", err)
		}
	}
	if _, err := l.log.Seek(int64(good), 0); err != nil {
		return fmt.Errorf("seeking in ledger: %w", err)
	}
	if len(records) == 0 {
		if err := l.append(record{Type: header, Version: formatVersion}, true); err != nil {
			return err
		}
	}
	if len(records) > 1 {
		return nil // its name was durable before the first intent
	}
	return l.syncDir()
}

// makeDirectory makes the ledger's directory with the one of the originals, and
// its own name durable.
func makeDirectory(dir string) error {
	_, err := os.Lstat(dir)
	if mkdir := os.MkdirAll(filepath.Join(dir, "originals"), 0o700); mkdir != nil {
		return fmt.Errorf("making the ledger's directory: %w", mkdir)
	}
	if err == nil {
		return nil
	}
	parent, err := host.OpenTree(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.SyncDir("/")
}

// syncDir makes the names of ledger.log and originals durable.
func (l *Ledger) syncDir() error {
	tree, err := host.OpenTree(l.dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncDir("/")
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
	r.Seq, r.Time = len(l.records), time.Now().UTC()
	line, err := r.line()
	if err != nil {
		return err
	}
	if _, err := l.log.Write(line); err != nil {
		l.broken = err
		return fmt.Errorf("writing ledger: %w", err)
	}
	if durable {
		if err := l.log.Sync(); err != nil {
			l.broken = err
			return fmt.Errorf("syncing ledger: %w", err)
		}
	}
	l.records = append(l.records, r)
	return nil
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
