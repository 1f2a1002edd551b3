package watch

import (
	"context"
	"time"
)

// Look is one thing that is looked at regularly.
type Look struct {
	Name  string
	Every time.Duration
	// Find gives what is not as it should be; an error means that not all of it
	// could be found out, and says what to do.
	Find func(context.Context) ([]Finding, error)
}

// Watcher looks, and tells.
type Watcher struct {
	Looks []Look
	// Limit is the time that one look may take.
	Limit time.Duration
	// Again is when a look that has found something new, or no longer finds
	// something, is taken again to be sure.
	Again time.Duration
	// Failed makes a finding of a look that could not be taken.
	Failed func(error) Finding
	// Tell is given every change once, those of one look together.
	Tell func(context.Context, []Change)
	// Beat is called after every look, with all that stands. It is settled when
	// every look was taken, and none has to be taken again to be sure: until then
	// that nothing stands does not mean that all is well.
	Beat func(ctx context.Context, standing []Change, settled bool)
	// Over tells that there is nothing to watch any more.
	Over func() (bool, error)

	tracker Tracker
}

// Run looks until ctx ends or there is nothing to watch any more; the error is
// that of Over. One look is taken at a time, so that the host has little to do.
func (w *Watcher) Run(ctx context.Context) error {
	due := make([]time.Time, len(w.Looks))
	for {
		for i, look := range w.Looks {
			if time.Now().Before(due[i]) {
				continue
			}
			if over, err := w.Over(); over || err != nil {
				return err
			}
			w.once(ctx, look)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was told to end
			}
			due[i] = time.Now().Add(w.pace(look))
			w.Beat(ctx, w.tracker.Standing(), w.settled(due))
		}
		if !pause(ctx, time.Until(earliest(due))) {
			return nil
		}
	}
}

func (w *Watcher) pace(look Look) time.Duration {
	if w.tracker.unsettled(look.Name) {
		return min(look.Every, w.Again)
	}
	return look.Every
}

// settled tells whether all is known; what was never taken was never due.
func (w *Watcher) settled(due []time.Time) bool {
	for i, look := range w.Looks {
		if due[i].IsZero() || w.tracker.unsettled(look.Name) {
			return false
		}
	}
	return true
}

func (w *Watcher) once(ctx context.Context, look Look) {
	limited, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	found, err := look.Find(limited)
	if ctx.Err() != nil {
		return // what a look says that was broken off is worth nothing
	}
	if err != nil {
		failed := w.Failed(err)
		failed.Blind = true
		found = append(found, failed)
	}
	if changes := w.tracker.See(look.Name, found, time.Now()); len(changes) > 0 {
		w.Tell(ctx, changes)
	}
}

func earliest(times []time.Time) time.Time {
	first := times[0]
	for _, t := range times[1:] {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

// pause tells whether it was not broken off.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
