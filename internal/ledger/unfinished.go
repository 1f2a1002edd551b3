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

// Unfinished returns the changes of interrupted runs that are not recorded as done. The
// next run makes or settles them. External changes are excluded, because no run has to
// finish them.
func (l *Ledger) Unfinished() []Item {
	var items []Item
	for _, item := range l.Items() {
		if !item.Done && !item.external {
			items = append(items, item)
		}
	}
	return items
}

// IsLocked reports whether another process is changing the host. It holds the lock briefly,
// as concurrent callers can. Open therefore retries for a second.
func IsLocked(dir string) (bool, error) {
	log, err := os.Open(filepath.Join(dir, "ledger.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening ledger: %w", err)
	}
	defer log.Close() // releases the lock
	err = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// Summary describes one item without its states.
type Summary struct {
	Kind      Kind      `json:"kind"`
	Target    string    `json:"target"`
	Step      string    `json:"step"`
	Reason    string    `json:"why,omitempty"`
	ChangedAt time.Time `json:"when"` // time of the last change
	Done      bool      `json:"done"`
}

// Summary returns the list of Items without states, for output that must not contain
// contents.
func (l *Ledger) Summary() []Summary {
	when := map[string]time.Time{}
	for _, r := range l.records {
		for _, e := range r.Entries {
			when[e.Key()] = r.Time
		}
	}
	items := l.Items()
	all := make([]Summary, 0, len(items))
	for _, item := range items {
		all = append(all, Summary{Kind: item.Kind, Target: item.Target, Step: item.Step, Reason: item.Reason, ChangedAt: when[item.Key()], Done: item.Done})
	}
	return all
}
