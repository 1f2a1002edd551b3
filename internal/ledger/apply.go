package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Pending is a change that is still to be made, and what is there now.
type Pending struct {
	Change
	Now State `json:"now"`
}

// Together is a Driver that makes many changes faster at once than one by one.
type Together interface {
	MakeAll(ctx context.Context, pending []Pending) error
}

// Completer is a Driver whose changes imply others, as a file implies the
// directories above it.
type Completer interface {
	Complete(changes []Change) ([]Change, error)
}

// Diff tells which of the changes are still to be made, with those that they
// imply, in the order in which they will be made. It changes nothing.
func (l *Ledger) Diff(ctx context.Context, changes []Change) ([]Pending, error) {
	for _, driver := range l.drivers {
		if completer, ok := driver.(Completer); ok {
			var err error
			if changes, err = completer.Complete(changes); err != nil {
				return nil, err
			}
			break // all path kinds share one driver
		}
	}
	var pending []Pending
	for _, change := range changes {
		now, err := l.look(ctx, change)
		if err != nil {
			return nil, err
		}
		if !change.Same(now) {
			pending = append(pending, Pending{Change: change, Now: now})
		}
	}
	return pending, nil
}

// Apply makes those of the changes that are not so already, and tells which
// they were. Everything that is needed to give them back is durable before the
// first of them is made.
func (l *Ledger) Apply(ctx context.Context, step string, changes []Change) ([]Pending, error) {
	pending, err := l.Diff(ctx, changes)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	seq, err := l.intend(step, pending)
	if err != nil {
		return nil, err
	}
	if err := l.make(ctx, pending); err != nil {
		return nil, err
	}
	return pending, l.append(record{Type: done, Of: seq}, true)
}

// Bracket records what is there before somebody else (client-go, dnf,
// NetworkManager) changes it; the function that it returns records what is
// there after.
func (l *Ledger) Bracket(ctx context.Context, step string, changes ...Change) (func() error, error) {
	pending := make([]Pending, 0, len(changes))
	for _, change := range changes {
		now, err := l.look(ctx, change)
		if err != nil {
			return nil, err
		}
		pending = append(pending, Pending{Change: change, Now: now})
	}
	seq, err := l.intend(step, pending)
	if err != nil {
		return nil, err
	}
	return func() error {
		after := make([]State, 0, len(changes))
		for _, change := range changes {
			now, err := l.look(ctx, change)
			if err != nil {
				return err
			}
			after = append(after, now)
		}
		return l.append(record{Type: done, Of: seq, After: after}, true)
	}, nil
}

func (l *Ledger) intend(step string, pending []Pending) (int, error) {
	entries := make([]entry, 0, len(pending))
	for _, p := range pending {
		entries = append(entries, entry{Change: p.Change, Before: p.Now})
	}
	if err := l.keepOriginals(pending); err != nil {
		return 0, err
	}
	seq := len(l.records)
	return seq, l.append(record{Type: intent, Step: step, Entries: entries}, true)
}

func (l *Ledger) make(ctx context.Context, pending []Pending) error {
	for i := 0; i < len(pending); {
		driver, err := l.driver(pending[i].Kind)
		if err != nil {
			return err
		}
		end := i + 1
		if together, ok := driver.(Together); ok {
			for end < len(pending) && l.drivers[pending[end].Kind] == driver {
				end++
			}
			err = together.MakeAll(ctx, pending[i:end])
		} else {
			err = driver.Make(ctx, pending[i].Change, pending[i].Now)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// keepOriginals makes the contents that will be replaced durable.
func (l *Ledger) keepOriginals(pending []Pending) error {
	tree, err := host.OpenTree(l.dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	batch := tree.NewBatch()
	defer batch.Abort()
	staged := map[string]bool{}
	for _, p := range pending {
		if p.Now.Digest == "" || staged[p.Now.Digest] {
			continue
		}
		staged[p.Now.Digest] = true
		attr := host.Attr{Mode: 0o600, UID: os.Geteuid(), GID: os.Getegid()}
		if err := batch.Stage("/originals/"+p.Now.Digest, p.Now.Content, attr); err != nil {
			return fmt.Errorf("keeping the original of %s: %w", p.Target, err)
		}
	}
	if len(staged) == 0 {
		return nil
	}
	return batch.Commit()
}

// original reads back a content that was kept.
func (l *Ledger) original(sum string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(l.dir, "originals", filepath.Base(sum)))
	if err != nil {
		return nil, fmt.Errorf("reading a kept original: %w", err)
	}
	if digest(content) != sum {
		return nil, fmt.Errorf("reading a kept original: %s is damaged", filepath.Join(l.dir, "originals", sum))
	}
	return content, nil
}
