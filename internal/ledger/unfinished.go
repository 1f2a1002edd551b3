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

// Unfinished lists the changes of which a run was ended before it could say
// that they are made; the next run makes or settles them. What others make is
// not among them: a run need not wait for its end.
func (l *Ledger) Unfinished() []Item {
	var items []Item
	for _, item := range l.Items() {
		if !item.Done && !item.bracket {
			items = append(items, item)
		}
	}
	return items
}

// Locked tells whether a process changes the host now. It holds the lock for a
// moment itself, as others can: who wants to write tries for a second.
func Locked(dir string) (bool, error) {
	log, err := os.Open(filepath.Join(dir, "ledger.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening ledger: %w", err)
	}
	defer log.Close() // which gives the lock back
	err = unix.Flock(int(log.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// Summary is one thing that the ledger holds, without how it was or is.
type Summary struct {
	Kind   Kind      `json:"kind"`
	Target string    `json:"target"`
	Step   string    `json:"step"`
	Why    string    `json:"why,omitempty"`
	When   time.Time `json:"when"` // of the last change
	Done   bool      `json:"done"`
}

// Summary lists what Items does, for those who shall see no contents.
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
		all = append(all, Summary{Kind: item.Kind, Target: item.Target, Step: item.Step, Why: item.Why, When: when[item.Key()], Done: item.Done})
	}
	return all
}
