package report

import (
	"context"
	"errors"
)

// ExplainInterruption describes a cancellation or timeout of ctx in a message with
// a remedy. Completed work is kept; the same command resumes it.
func ExplainInterruption(ctx context.Context, err error) error {
	const again = "# run the same command again: it goes on where this one ended"
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Fail(Failed, again+"; --timeout DURATION waits longer", "the time for the join is over: %w", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return Fail(Interrupted, again, "interrupted: %w", err)
	}
	return err
}
