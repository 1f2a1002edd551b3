// SPDX-License-Identifier: Apache-2.0

// Package steps runs the steps of a flow that changes the host, such as a join or a
// leave, in order, and reports their progress. Start reading at Run.
package steps

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// Step is one step of a flow whose data is a T.
type Step[T any] struct {
	Name        string
	Description string // for help texts and documents
	Run         func(ctx context.Context, flow T, log report.Log) (Outcome, error)
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

// Runner describes how steps are run.
type Runner struct {
	Sink   report.Sink
	Ledger Ledger // its changes are reported as events of the step that makes them; nil: the flow has none
	Skip   []string
	Until  string // the name of the last step to run; "" runs all
	// Completed is called after each completed step with the names of that step and of
	// the next one, "" after the last. It can be nil.
	Completed func(name, next string, elapsed time.Duration) error
}

// Ledger reports its changes to the log of the current step.
type Ledger interface{ LogTo(log report.Log) }

// Run runs the steps and reports whether any of them changed something. It returns the
// error of the first step that fails, prefixed with the name of the step.
func Run[T any](ctx context.Context, r Runner, steps []Step[T], flow T) (bool, error) {
	changed := false
	for i, step := range steps {
		if slices.Contains(r.Skip, step.Name) {
			r.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
			r.emit(report.Event{Kind: report.StepSkipped, Step: step.Name, Message: "skipped on request"})
			continue
		}
		started := time.Now()
		outcome, err := run(ctx, r, step, flow)
		if err != nil {
			return changed, err
		}
		changed = changed || outcome.Changed
		if r.Completed != nil {
			next := ""
			if i+1 < len(steps) {
				next = steps[i+1].Name
			}
			if err := r.Completed(step.Name, next, time.Since(started)); err != nil {
				return changed, err
			}
		}
		if step.Name == r.Until {
			break
		}
	}
	return changed, nil
}

func run[T any](ctx context.Context, r Runner, step Step[T], flow T) (Outcome, error) {
	started := time.Now()
	r.emit(report.Event{Kind: report.StepStarted, Step: step.Name})
	log := report.Log{Sink: r.Sink, Step: step.Name}
	if r.Ledger != nil {
		r.Ledger.LogTo(log)
	}
	end := trace.Start(ctx, trace.Step, step.Name)
	outcome, err := step.Run(ctx, flow, log)
	end()
	elapsed := time.Since(started)
	if err != nil {
		err = report.ExplainInterruption(ctx, err)
		r.emit(report.Event{
			Kind: report.StepFailed, Step: step.Name, Message: err.Error(), Remedy: report.RemedyOf(err),
			Causes: report.CausesOf(err), Elapsed: elapsed,
		})
		return outcome, fmt.Errorf("%s: %w", step.Name, err)
	}
	kind := report.StepUnchanged
	if outcome.Changed {
		kind = report.StepDone
	}
	r.emit(report.Event{Kind: kind, Step: step.Name, Message: outcome.Summary, Elapsed: elapsed})
	return outcome, nil
}

func (r Runner) emit(event report.Event) {
	event.Time = time.Now()
	if r.Sink != nil {
		r.Sink.Emit(event)
	}
}
