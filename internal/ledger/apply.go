package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// BatchSetter is a Driver that applies many changes faster in one call than one by one.
type BatchSetter interface {
	SetAll(ctx context.Context, pending []PlannedChange) error
}

// Cleaner is a Driver whose interrupted runs can leave temporary files or processes.
type Cleaner interface {
	// CleanUp removes what interrupted runs left beside the targets of the changes, and makes
	// their effects durable. A process that an interrupted run started has exited when Tidy
	// returns.
	CleanUp(ctx context.Context, changes []Change) error
}

// Apply makes the changes that differ from the current state and returns them. All data
// that a rollback needs is durable before the first change is made. All changes are durable
// when Apply returns.
func (l *Ledger) Apply(ctx context.Context, step string, changes []Change) ([]PlannedChange, error) {
	if err := l.cleanUp(ctx, l.unfinishedChanges()); err != nil {
		return nil, err
	}
	pending, err := l.Diff(ctx, changes)
	if err != nil {
		return nil, err
	}
	if checker, ok := findDriver[Checker](l); ok {
		if err := checker.Check(pending); err != nil {
			return nil, err
		}
	}
	settled, err := l.completedUnfinished(ctx, pending)
	if err != nil || len(pending)+len(settled) == 0 {
		return nil, err
	}
	seq, err := l.recordIntent(record{Step: step, Entries: settled}, pending)
	if err != nil {
		return nil, err
	}
	for i := range pending {
		pending[i].Now.Content = nil // saved by recordIntent; the content can be large
	}
	if err := l.applyChanges(ctx, pending); err != nil {
		return nil, err
	}
	for _, p := range pending {
		l.notify(p.Change)
	}
	return pending, l.append(record{Type: done, Of: seq}, true)
}

func (l *Ledger) notify(c Change) {
	if l.OnChange != nil {
		l.OnChange(c)
	}
}

func (l *Ledger) unfinishedChanges() []Change {
	var changes []Change
	for _, item := range l.Items() {
		// Files that TrackExternal records are not written by the agent.
		if !item.Done && (!item.external || !item.isPath()) {
			changes = append(changes, item.Change)
		}
	}
	return changes
}

// cleanUp cleans up after interrupted runs. Each driver receives its own changes.
func (l *Ledger) cleanUp(ctx context.Context, changes []Change) error {
	own := map[Cleaner][]Change{}
	var tidiers []Cleaner
	for _, c := range changes {
		tidier, ok := l.drivers[c.Kind].(Cleaner)
		if !ok {
			continue
		}
		if own[tidier] == nil {
			tidiers = append(tidiers, tidier)
		}
		own[tidier] = append(own[tidier], c)
	}
	for _, tidier := range tidiers {
		if err := tidier.CleanUp(ctx, own[tidier]); err != nil {
			return err
		}
	}
	return nil
}

// TrackExternal records the state before a change that the ledger does not make itself (by dnf,
// NetworkManager or kubelet's certificates). The returned function records the state after
// the change.
func (l *Ledger) TrackExternal(ctx context.Context, step string, changes ...Change) (func() error, error) {
	pending := make([]PlannedChange, 0, len(changes))
	for _, change := range changes {
		now, err := l.currentState(ctx, change)
		if err != nil {
			return nil, err
		}
		pending = append(pending, PlannedChange{Change: change, Now: now})
	}
	seq, err := l.recordIntent(record{Step: step, External: true}, pending)
	if err != nil {
		return nil, err
	}
	return func() error {
		after := make([]State, 0, len(changes))
		for _, change := range changes {
			now, err := l.currentState(ctx, change)
			if err != nil {
				return err
			}
			after = append(after, now)
		}
		return l.append(record{Type: done, Of: seq, After: after}, true)
	}, nil
}

// recordIntent makes the current states durable, then the intent to change them. It returns the
// sequence number of the intent record.
func (l *Ledger) recordIntent(r record, pending []PlannedChange) (int, error) {
	for _, p := range pending {
		r.Entries = append(r.Entries, entry{Change: p.Change, Before: p.Now})
	}
	if err := l.saveOriginals(pending); err != nil {
		return 0, err
	}
	r.Type = intent
	err := l.append(r, true)
	return len(l.records) - 1, err
}

func (l *Ledger) applyChanges(ctx context.Context, pending []PlannedChange) error {
	for i := 0; i < len(pending); {
		driver, err := l.driver(pending[i].Kind)
		if err != nil {
			return err
		}
		end := i + 1
		if together, ok := driver.(BatchSetter); ok {
			for end < len(pending) && l.drivers[pending[end].Kind] == driver {
				end++
			}
			err = together.SetAll(ctx, pending[i:end])
		} else {
			err = driver.Set(ctx, pending[i].Change, pending[i].Now)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// saveOriginals makes the contents that will be replaced durable. It skips targets that the
// ledger already changed: their current content is the agent's own, is never restored, and
// can be a secret that is being removed.
func (l *Ledger) saveOriginals(pending []PlannedChange) error {
	held := map[string]bool{}
	for _, item := range l.Items() {
		held[item.Key()] = true
	}
	tree, err := hostfs.OpenTree(l.dir)
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
		attr := hostfs.Attr{Mode: 0o600, UID: os.Geteuid(), GID: os.Getegid()}
		if err := batch.Stage("/originals/"+p.Now.Digest, p.Now.Content, attr); err != nil {
			return fmt.Errorf("keeping the original of %s: %w", p.Target, err)
		}
	}
	if len(staged) == 0 {
		return nil
	}
	return batch.Commit()
}

// readOriginal returns the saved content with the given SHA-256 digest.
func (l *Ledger) readOriginal(sum string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(l.dir, "originals", filepath.Base(sum)))
	if err != nil {
		return nil, fmt.Errorf("reading a kept original: %w", err)
	}
	if digest(content) != sum {
		return nil, fmt.Errorf("reading a kept original: %s is damaged", filepath.Join(l.dir, "originals", sum))
	}
	return content, nil
}
