package watch

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/sleep"
)

// Check is a check that is run regularly.
type Check struct {
	Name     string
	Interval time.Duration
	// Find returns the problems. An error means that the check is incomplete, and contains
	// the remedy.
	Find func(context.Context) ([]report.Finding, error)
}

// Watcher runs checks and reports changes.
type Watcher struct {
	Checks []Check
	// Timeout is the timeout of one check.
	Timeout time.Duration
	// ConfirmAfter is the interval after which a check is repeated to confirm a new or resolved
	// finding.
	ConfirmAfter time.Duration
	// FailureFinding returns the finding for a check that failed.
	FailureFinding func(error) report.Finding
	// OnChange is called once with the changes of one check.
	OnChange func(context.Context, []Change)
	// OnTick is called after every check with the active findings. Until settled is true,
	// some checks have not run or await confirmation, so an empty list does not mean
	// healthy.
	OnTick func(ctx context.Context, active []Change, settled bool)
	// Done reports whether there is nothing more to watch.
	Done func() (bool, error)

	tracker Tracker
}

// Run runs the checks until ctx is done, or until Done returns true or an error. It returns
// the error of Done. Only one check runs at a time, to limit the load.
func (w *Watcher) Run(ctx context.Context) error {
	due := make([]time.Time, len(w.Checks))
	for {
		for i, check := range w.Checks {
			if time.Now().Before(due[i]) {
				continue
			}
			if over, err := w.Done(); over || err != nil {
				return err
			}
			w.runCheck(ctx, check)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // ctx was cancelled
			}
			due[i] = time.Now().Add(w.nextInterval(check))
			w.OnTick(ctx, w.tracker.active(), w.settled(due))
		}
		if sleep.For(ctx, time.Until(earliest(due))) != nil {
			return nil //nolint:nilerr // ctx has ended, as requested
		}
	}
}

func (w *Watcher) nextInterval(check Check) time.Duration {
	if w.tracker.needsConfirmation(check.Name) {
		return min(check.Interval, w.ConfirmAfter)
	}
	return check.Interval
}

// settled reports whether every check has run and no confirmation is pending. The due time
// of a check that has never run is zero.
func (w *Watcher) settled(due []time.Time) bool {
	for i, check := range w.Checks {
		if due[i].IsZero() || w.tracker.needsConfirmation(check.Name) {
			return false
		}
	}
	return true
}

func (w *Watcher) runCheck(ctx context.Context, check Check) {
	limited, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	found, err := check.Find(limited)
	if ctx.Err() != nil {
		return // discard the result of a canceled check
	}
	if err != nil {
		failed := w.FailureFinding(err)
		failed.Incomplete = true
		found = append(found, failed)
	}
	if changes := w.tracker.update(check.Name, found, time.Now()); len(changes) > 0 {
		w.OnChange(ctx, changes)
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
