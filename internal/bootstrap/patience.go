package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Backoff of the service between attempts to join.
const (
	firstPatience   = 10 * time.Second
	longestPatience = 5 * time.Minute
	lookAround      = 5 * time.Second // interval of checks for new input files
)

// attempt describes a failed attempt to join.
type attempt struct {
	step string // the step that failed; "" if no step had started
	err  error
}

// waits reports whether the service retries the join itself. This covers
// failures that end with time or by a remote change: network or clock not ready at
// boot, ignition server unavailable, expired token, replaced user data, packages
// being installed. None of these steps has changed the host when it fails. On other
// failures the service exits, and systemd decides by the exit code.
func (a attempt) waits() bool {
	code := report.CodeOf(a.err)
	switch {
	case code == report.Interrupted || code == report.RebootNeeded:
		return false
	case a.step == "": // the inputs could not be read, or another process holds the lock
		return code == report.Failed || code == report.CredentialRefused
	}
	return slices.Contains([]string{"preflight", "fetch", "admission", "packages"}, a.step)
}

// alike reports whether two attempts failed for the same reason. Messages are
// not compared, because they contain times and counts.
func (a attempt) alike(b attempt) bool {
	return a.step == b.step && report.CodeOf(a.err) == report.CodeOf(b.err) && report.RemedyOf(a.err) == report.RemedyOf(b.err)
}

// pause returns the wait after the given number of identical failures. It doubles
// with each failure, up to maxBackoff.
func pause(tries int) time.Duration {
	return min(firstPatience<<min(tries-1, 10), longestPatience)
}

// retrier retries a join until it succeeds, a failure is not retryable, or ctx
// ends. Identical failures are reported once. The systemd status always contains
// the reason for the wait.
type retrier struct {
	sink  report.Sink
	try   func(context.Context, report.Sink) error
	marks func() string // changes if there are new input files
	wait  func(context.Context, time.Duration) error
	tell  func(status string)
}

func (r retrier) join(ctx context.Context) error {
	var last attempt
	tries, since := 0, time.Now()
	for {
		told := &retelling{sink: r.sink, known: last}
		marks := r.marks()
		err := r.try(ctx, told)
		if err == nil {
			told.flush()
			return nil
		}
		now := attempt{step: told.step, err: err}
		if ctx.Err() != nil || !now.waits() {
			told.flush()
			return err
		}
		if tries++; !now.alike(last) {
			told.flush()
			tries, since = 1, time.Now()
			r.note(now)
		}
		last = now
		if err := r.rest(ctx, now, since, pause(tries), marks); err != nil {
			return err
		}
	}
}

// note logs that the service retries automatically.
func (r retrier) note(a attempt) {
	log := report.Log{Sink: r.sink, Step: a.step}
	if a.step == "" {
		log.Warn(a.err.Error(), report.RemedyOf(a.err)) // no step has reported the failure
	}
	log.Note("it is tried again by itself, first after " + pause(1).String() + ", then more and more seldom, and at once when there is a new stub or ticket")
}

// rest waits until the next attempt is due or new input files exist.
func (r retrier) rest(ctx context.Context, a attempt, since time.Time, long time.Duration, marks string) error {
	until := time.Now().Add(long)
	what := a.err.Error() // contains the name of the step, if any
	r.tell(fmt.Sprintf("waits since %s, tries again at %s: %s", since.Format("Jan 2 15:04"), until.Format(time.TimeOnly), what))
	for rested := time.Duration(0); rested < long && r.marks() == marks; rested += lookAround {
		if err := r.wait(ctx, min(lookAround, long-rested)); err != nil {
			return report.Fail(report.Interrupted, "systemctl start "+serviceUnit, "interrupted while waiting: %s", what)
		}
	}
	return nil
}

// sleep waits for the duration or until ctx ends.
func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retelling buffers the events of an attempt while they repeat the previous
// attempt. It passes all events on once the attempt gets past the step that failed
// before, or starts a first step where none had started before.
type retelling struct {
	sink  report.Sink
	known attempt // the previous attempt; if its err is nil, all events are passed on
	held  []report.Event
	step  string // the step that failed
	over  bool
}

// Emit buffers the event or passes it on.
func (r *retelling) Emit(event report.Event) {
	if event.Kind == report.StepFailed {
		r.step = event.Step
	}
	past := (event.Kind == report.StepDone || event.Kind == report.StepSame) && event.Step == r.known.step ||
		event.Kind == report.StepStarted && r.known.step == ""
	r.held = append(r.held, event)
	if r.over || r.known.err == nil || past {
		r.flush()
	}
}

// flush passes on the buffered events and, from then on, all later ones
// immediately.
func (r *retelling) flush() {
	r.over = true
	if r.sink != nil {
		for _, event := range r.held {
			r.sink.Emit(event)
		}
	}
	r.held = nil
}
