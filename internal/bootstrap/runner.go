package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Step is one part of a join.
type Step struct {
	Name string
	Does string // for help and documents
	// Until is the state that the node has come to after the step, as
	// --until names it; "" for none.
	Until string
	// Needed steps cannot be skipped: those after them would have nothing to
	// work with.
	Needed bool
	// Alone tells a step that works with the host as it is, without what the
	// steps before it hand on.
	Alone bool
	run   func(ctx context.Context, j *join, log report.Log) (outcome, error)
}

// outcome is how a step ended well.
type outcome struct {
	summary string
	changed bool // it changed something; otherwise all was as it should be
}

// same is the outcome of a step that found nothing to do.
func same(format string, args ...any) (outcome, error) {
	return outcome{summary: fmt.Sprintf(format, args...)}, nil
}

// changed is the outcome of a step that did something.
func changed(format string, args ...any) (outcome, error) {
	return outcome{summary: fmt.Sprintf(format, args...), changed: true}, nil
}

// run goes through the steps until the wished state, tells about each, and
// says whether any of them changed something.
func (j *join) run(ctx context.Context, steps []Step) (bool, error) {
	any := false
	for _, step := range steps {
		if slices.Contains(j.config.Skip, step.Name) {
			j.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
			j.emit(report.Event{Kind: report.StepSkipped, Step: step.Name, Message: "left out on request"})
			continue
		}
		did, err := j.one(ctx, step)
		if err != nil {
			return any, err
		}
		any = any || did
		if j.state.Leaving.IsZero() { // LastStep is of the join
			if err := j.remember(step.Name); err != nil {
				return any, err
			}
		}
		if step.Until != "" && step.Until == j.config.Until {
			break
		}
	}
	return any, nil
}

// one runs one step.
func (j *join) one(ctx context.Context, step Step) (bool, error) {
	started := time.Now()
	j.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
	log := report.Log{Sink: j.sink, Step: step.Name}
	if j.machine != nil && j.ledger != nil {
		j.ledger.Tell = func(c ledger.Change) { log.Changed(string(c.Kind), c.Target) }
	}
	out, err := step.run(ctx, j, log)
	elapsed := time.Since(started)
	if err != nil {
		err = inWords(ctx, err)
		j.emit(report.Event{
			Kind: report.StepFailed, Step: step.Name, Message: err.Error(), Remedy: report.RemedyOf(err), Elapsed: elapsed,
		})
		return false, fmt.Errorf("%s: %w", step.Name, err)
	}
	kind := report.StepSame
	if out.changed {
		kind = report.StepDone
	}
	j.emit(report.Event{Kind: kind, Step: step.Name, Message: out.summary, Elapsed: elapsed})
	return out.changed, nil
}

// inWords says an interruption and the end of the given time as a person
// would; everything done so far is kept, and the same command goes on with it.
func inWords(ctx context.Context, err error) error {
	const again = "# run the same command again: it goes on where this one ended"
	var failure *report.Failure
	switch {
	case errors.As(err, &failure):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return report.Fail(report.Failed, again+"; --timeout DURATION waits longer", "the time for the join is over: %w", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return report.Fail(report.Interrupted, again, "interrupted: %w", err)
	}
	return err
}

func (j *join) emit(event report.Event) {
	event.Time = time.Now()
	if j.sink != nil {
		j.sink.Emit(event)
	}
}
