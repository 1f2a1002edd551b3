package watch

import (
	"context"
	"time"
)

// Look is a check that is run regularly.
type Look struct {
	Name  string
	Every time.Duration
	// Find returns the problems. An error means that the check is incomplete, and contains
	// the remedy.
	Find func(context.Context) ([]Finding, error)
}

// Watcher runs checks and reports changes.
type Watcher struct {
	Looks []Look
	// Limit is the timeout of one check.
	Limit time.Duration
	// Again is the interval after which a check is repeated to confirm a new or resolved
	// finding.
	Again time.Duration
	// Failed returns the finding for a check that failed.
	Failed func(error) Finding
	// Tell is called once with the changes of one check.
	Tell func(context.Context, []Change)
	// Beat is called after every check with the active findings. Until settled is true,
	// some checks have not run or await confirmation, so an empty list does not mean
	// healthy.
	Beat func(ctx context.Context, standing []Change, settled bool)
	// Over reports whether there is nothing more to watch.
	Over func() (bool, error)

	tracker Tracker
}

// Run runs the checks until ctx is done, or until Done returns true or an error. It returns
// the error of Done. Only one check runs at a time, to limit the load.
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

// settled reports whether every check has run and no confirmation is pending. The due time
// of a check that has never run is zero.
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
		return // discard the result of a canceled check
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

// pause waits and reports whether the wait was completed. It returns false if ctx is done.
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
