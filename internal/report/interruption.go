// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
)

// ExplainInterruption describes a cancellation or timeout of ctx in a message with
// a remedy. Completed work is kept; the same command resumes it.
func ExplainInterruption(ctx context.Context, err error) error {
	const again = "# run the same command again to resume"
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Fail(Failed, again+"; use --timeout DURATION to wait longer", "join timed out: %w", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return Fail(Interrupted, again, "interrupted: %w", err)
	}
	return err
}
