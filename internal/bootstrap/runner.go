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

// Step is one step of a join or leave.
type Step struct {
	Name        string
	Description string // for help texts and documents
	// Until is the value of --until that ends the join after the step; "" for none.
	Until string
	// Required steps cannot be skipped, because later steps use their results.
	Required bool
	// Independent steps do not use the results of earlier steps, and can be run with
	// --only.
	Independent bool
	Run         func(ctx context.Context, j *Builder, log report.Log) (Outcome, error)
}

// Outcome is the result of a successful step.
type Outcome struct {
	Summary string
	Changed bool // the step changed something; false if everything was up to date
}

// Unchanged returns the outcome of a step that changed nothing.
func Unchanged(format string, args ...any) (Outcome, error) {
	return Outcome{Summary: fmt.Sprintf(format, args...)}, nil
}

// Changed returns the outcome of a step that changed something.
func Changed(format string, args ...any) (Outcome, error) {
	return Outcome{Summary: fmt.Sprintf(format, args...), Changed: true}, nil
}

// runSteps runs the steps up to the one that --until names, and reports whether any
// of them changed something.
func (j *Builder) runSteps(ctx context.Context, steps []Step) (bool, error) {
	any := false
	for _, step := range steps {
		if slices.Contains(j.Config.Skip, step.Name) {
			j.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
			j.emit(report.Event{Kind: report.StepSkipped, Step: step.Name, Message: "left out on request"})
			continue
		}
		did, err := j.runStep(ctx, step)
		if err != nil {
			return any, err
		}
		any = any || did
		if j.State.Leaving.IsZero() { // LastStep is the last step of the join
			if err := j.recordStep(step.Name); err != nil {
				return any, err
			}
		}
		if step.Until != "" && step.Until == j.Config.Until {
			break
		}
	}
	return any, nil
}

// runStep runs one step and reports whether it changed something.
func (j *Builder) runStep(ctx context.Context, step Step) (bool, error) {
	started := time.Now()
	j.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
	log := report.Log{Sink: j.Sink, Step: step.Name}
	if j.Machine != nil && j.Ledger != nil {
		j.Ledger.OnChange = func(c ledger.Change) { log.Changed(string(c.Kind), c.Target) }
	}
	out, err := step.Run(ctx, j, log)
	elapsed := time.Since(started)
	if err != nil {
		err = ExplainInterruption(ctx, err)
		j.emit(report.Event{
			Kind: report.StepFailed, Step: step.Name, Message: err.Error(), Remedy: report.RemedyOf(err), Elapsed: elapsed,
		})
		return false, fmt.Errorf("%s: %w", step.Name, err)
	}
	kind := report.StepUnchanged
	if out.Changed {
		kind = report.StepDone
	}
	j.emit(report.Event{Kind: kind, Step: step.Name, Message: out.Summary, Elapsed: elapsed})
	return out.Changed, nil
}

// ExplainInterruption describes a cancellation or timeout of ctx in a message with
// a remedy. Completed work is kept; the same command resumes it.
func ExplainInterruption(ctx context.Context, err error) error {
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

func (j *Builder) emit(event report.Event) {
	event.Time = time.Now()
	if j.Sink != nil {
		j.Sink.Emit(event)
	}
}
