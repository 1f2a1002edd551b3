package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// How long the service waits before it tries a join again.
const (
	firstPatience   = 10 * time.Second
	longestPatience = 5 * time.Minute
	lookAround      = 5 * time.Second // between looks for a new stub or ticket
)

// attempt is how a try to join has ended.
type attempt struct {
	step string // that failed; "" when none had begun
	err  error
}

// waits tells whether a try that failed is made again by the service itself,
// because time, or somebody elsewhere, can mend the cause: a network or a clock
// that is not there yet at boot, an ignition server that is away, a token that
// has expired and a stub that will be replaced, packages that are being
// installed. No step that it is so for has changed the host. Everything else is
// left to the unit, which knows by the exit code what does not mend itself.
func (a attempt) waits() bool {
	code := report.CodeOf(a.err)
	switch {
	case code == report.Interrupted || code == report.RebootNeeded:
		return false
	case a.step == "": // what is to be joined with could not be read, or somebody else is at it
		return code == report.Failed || code == report.CredentialRefused
	}
	return slices.Contains([]string{"preflight", "fetch", "admission", "packages"}, a.step)
}

// alike tells whether two tries failed for the same reason. What a message says
// of times and counts differs from try to try.
func (a attempt) alike(b attempt) bool {
	return a.step == b.step && report.CodeOf(a.err) == report.CodeOf(b.err) && report.RemedyOf(a.err) == report.RemedyOf(b.err)
}

// pause is how long to wait after so many tries that failed alike: twice as
// long each time, up to five minutes.
func pause(tries int) time.Duration {
	return min(firstPatience<<min(tries-1, 10), longestPatience)
}

// retrier tries a join until it succeeds, until waiting helps no more, or until
// ctx ends. Tries that fail alike are told once; systemd's status always says
// what is waited for.
type retrier struct {
	sink  report.Sink
	try   func(context.Context, report.Sink) error
	marks func() string // changes when there is something new to join with
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

// note tells that the service goes on by itself.
func (r retrier) note(a attempt) {
	log := report.Log{Sink: r.sink, Step: a.step}
	if a.step == "" {
		log.Warn(a.err.Error(), report.RemedyOf(a.err)) // no step has told it
	}
	log.Note("it is tried again by itself, first after " + pause(1).String() + ", then more and more seldom, and at once when there is a new stub or ticket")
}

// rest waits until the next try, or until there is something new to join with.
func (r retrier) rest(ctx context.Context, a attempt, since time.Time, long time.Duration, marks string) error {
	until := time.Now().Add(long)
	what := a.err.Error() // names the step, where there is one
	r.tell(fmt.Sprintf("waits since %s, tries again at %s: %s", since.Format("Jan 2 15:04"), until.Format(time.TimeOnly), what))
	for rested := time.Duration(0); rested < long && r.marks() == marks; rested += lookAround {
		if err := r.wait(ctx, min(lookAround, long-rested)); err != nil {
			return report.Fail(report.Interrupted, "systemctl start "+serviceUnit, "interrupted while waiting: %s", what)
		}
	}
	return nil
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retelling holds back the story of a try while it is that of the one before:
// until it has come past the step that failed then, or to the first step where
// none had begun.
type retelling struct {
	sink  report.Sink
	known attempt // the try before; without an error all is told
	held  []report.Event
	step  string // that failed
	over  bool
}

// Emit tells an event, now or never.
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

// flush tells what was held back, and all that follows at once.
func (r *retelling) flush() {
	r.over = true
	if r.sink != nil {
		for _, event := range r.held {
			r.sink.Emit(event)
		}
	}
	r.held = nil
}
