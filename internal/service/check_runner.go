// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Check is a check that is run regularly.
type Check struct {
	Name     string
	Interval time.Duration
	// Find returns the problems. An error means that the check is incomplete, and contains
	// the remedy.
	Find func(context.Context) ([]report.Finding, error)
	// NeedsAPI means that the check has no result without the API server. It is postponed while the API server is
	// unreachable: its failure would be another finding about the same cause.
	NeedsAPI bool
}

// Monitor runs checks and reports changes.
type Monitor struct {
	Checks []Check
	// Timeout is the timeout of one check.
	Timeout time.Duration
	// ConfirmAfter is the interval after which a check is repeated to confirm a new or resolved
	// finding.
	ConfirmAfter time.Duration
	// RecheckAfter is the maximum interval of a check with active findings, so that a resolved
	// finding is noticed soon.
	RecheckAfter time.Duration
	// OnChange is called once with the changes of one check.
	OnChange func(context.Context, []Change)
	// OnTick is called after every check with the active findings. Until settled is true,
	// some checks have not run or await confirmation, so an empty list does not mean
	// healthy.
	OnTick func(ctx context.Context, active []Change, settled bool)
	// Wake receives names of checks to run at once, except checks that await confirmation,
	// which keep their interval. An empty name means all checks. It can be nil.
	Wake <-chan string
	// Done reports whether monitoring must end.
	Done func() (bool, error)
	// Suspended reports whether the next checks must be postponed, for example because findings are
	// expected.
	Suspended func() bool
	// Disconnected reports whether the API server was unreachable in the last check that requested something.
	Disconnected func() bool

	tracker Tracker
}

// Run runs the checks until ctx is done, or until Done returns true or an error. It returns
// the error of Done. Only one check runs at a time, to limit the load.
func (m *Monitor) Run(ctx context.Context) error {
	due := make([]time.Time, len(m.Checks))
	for {
		for i, check := range m.Checks {
			if time.Now().Before(due[i]) {
				continue
			}
			if over, err := m.Done(); over || err != nil {
				return err
			}
			if m.Suspended() || check.NeedsAPI && m.Disconnected() {
				due[i] = time.Now().Add(min(check.Interval, m.ConfirmAfter))
				m.OnTick(ctx, m.tracker.active(), false)
				continue
			}
			m.runCheck(ctx, check)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // ctx was cancelled
			}
			due[i] = time.Now().Add(m.nextInterval(check))
			m.OnTick(ctx, m.tracker.active(), m.settled(due))
		}
		if !m.rest(ctx, due) {
			return nil
		}
	}
}

// rest waits until the first check is due or a check is requested, and sets due for that
// check. It returns false if ctx has ended.
func (m *Monitor) rest(ctx context.Context, due []time.Time) bool {
	timer := time.NewTimer(time.Until(slices.MinFunc(due, time.Time.Compare)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case name := <-m.Wake:
		for i, check := range m.Checks {
			if (name == "" || check.Name == name) && !m.tracker.needsConfirmation(check.Name) {
				due[i] = time.Now()
			}
		}
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (m *Monitor) nextInterval(check Check) time.Duration {
	switch {
	case m.tracker.needsConfirmation(check.Name):
		return min(check.Interval, m.ConfirmAfter)
	case len(m.tracker.all[check.Name]) > 0:
		return min(check.Interval, m.RecheckAfter)
	}
	return check.Interval
}

// settled reports whether every check has run and no confirmation is pending. The due time
// of a check that has never run is zero.
func (m *Monitor) settled(due []time.Time) bool {
	for i, check := range m.Checks {
		if due[i].IsZero() || m.tracker.needsConfirmation(check.Name) {
			return false
		}
	}
	return true
}

func (m *Monitor) runCheck(ctx context.Context, check Check) {
	limited, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	found, err := check.Find(limited)
	if ctx.Err() != nil {
		return // discard the result of a canceled check
	}
	if err != nil {
		failed := newWarning(report.CheckFailed, "failed checks", err.Error(), report.RemedyOf(err))
		failed.Incomplete = true
		found = append(found, failed)
	}
	if changes := m.tracker.update(check.Name, found, time.Now()); len(changes) > 0 {
		m.OnChange(ctx, changes)
	}
}
