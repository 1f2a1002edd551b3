package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Together is a Driver that makes many changes faster at once than one by one.
type Together interface {
	MakeAll(ctx context.Context, pending []Pending) error
}

// Tidier is a Driver that leaves traces when a run is killed.
type Tidier interface {
	// Tidy removes what killed runs left beside the targets of the changes, and
	// makes durable what they did to them. A program that a killed run left
	// running has ended when it returns.
	Tidy(ctx context.Context, changes []Change) error
}

// Apply makes those of the changes that are not so already, and tells which
// they were. Everything that is needed to give them back is durable before the
// first of them is made, and all of them are durable when it returns.
func (l *Ledger) Apply(ctx context.Context, step string, changes []Change) ([]Pending, error) {
	if err := l.tidy(ctx, l.unfinishedChanges()); err != nil {
		return nil, err
	}
	pending, err := l.Diff(ctx, changes)
	if err != nil {
		return nil, err
	}
	if checker, ok := first[Checker](l); ok {
		if err := checker.Check(pending); err != nil {
			return nil, err
		}
	}
	settled, err := l.settled(ctx, pending)
	if err != nil || len(pending)+len(settled) == 0 {
		return nil, err
	}
	seq, err := l.intend(record{Step: step, Entries: settled}, pending)
	if err != nil {
		return nil, err
	}
	for i := range pending {
		pending[i].Now.Content = nil // kept by now; there can be much of it
	}
	if err := l.make(ctx, pending); err != nil {
		return nil, err
	}
	for _, p := range pending {
		l.tell(p.Change)
	}
	return pending, l.append(record{Type: done, Of: seq}, true)
}

func (l *Ledger) tell(c Change) {
	if l.Tell != nil {
		l.Tell(c)
	}
}

func (l *Ledger) unfinishedChanges() []Change {
	var changes []Change
	for _, item := range l.Items() {
		if !item.Done && (!item.bracket || !item.onPath()) { // the agent writes no file in a bracket
			changes = append(changes, item.Change)
		}
	}
	return changes
}

// tidy clears up after killed runs, each driver what is its own.
func (l *Ledger) tidy(ctx context.Context, changes []Change) error {
	own := map[Tidier][]Change{}
	var tidiers []Tidier
	for _, c := range changes {
		tidier, ok := l.drivers[c.Kind].(Tidier)
		if !ok {
			continue
		}
		if own[tidier] == nil {
			tidiers = append(tidiers, tidier)
		}
		own[tidier] = append(own[tidier], c)
	}
	for _, tidier := range tidiers {
		if err := tidier.Tidy(ctx, own[tidier]); err != nil {
			return err
		}
	}
	return nil
}

// Bracket records the state before a change that the ledger does not make itself
// (by dnf, NetworkManager or kubelet's certificates). The function that it
// returns records the state after the change.
func (l *Ledger) Bracket(ctx context.Context, step string, changes ...Change) (func() error, error) {
	pending := make([]Pending, 0, len(changes))
	for _, change := range changes {
		now, err := l.look(ctx, change)
		if err != nil {
			return nil, err
		}
		pending = append(pending, Pending{Change: change, Now: now})
	}
	seq, err := l.intend(record{Step: step, Bracket: true}, pending)
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

// intend makes durable what is there, and then that it shall be changed.
func (l *Ledger) intend(r record, pending []Pending) (int, error) {
	for _, p := range pending {
		r.Entries = append(r.Entries, entry{Change: p.Change, Before: p.Now})
	}
	if err := l.keepOriginals(pending); err != nil {
		return 0, err
	}
	r.Type = intent
	err := l.append(r, true)
	return len(l.records) - 1, err
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

// keepOriginals makes the contents that will be replaced durable. Of a thing
// that was changed before, what is there now is the ledger's own: it is never
// given back, and can be a secret that is removed because it shall not stay.
func (l *Ledger) keepOriginals(pending []Pending) error {
	held := map[string]bool{}
	for _, item := range l.Items() {
		held[item.Key()] = true
	}
	tree, err := host.OpenTree(l.dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	batch := tree.NewBatch()
	defer batch.Abort()
	staged := map[string]bool{}
	for _, p := range pending {
		if p.Now.Digest == "" || staged[p.Now.Digest] || held[p.Key()] {
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
