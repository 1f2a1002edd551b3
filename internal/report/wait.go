// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
)

// WaitError returns the error for a wait that ctx ended: failure if the deadline
// passed, and the cause of the cancellation otherwise.
func WaitError(ctx context.Context, failure error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure
	}
	return context.Cause(ctx)
}

// FailureAtDeadline returns failure if err only means that the deadline of ctx has passed,
// and err otherwise.
func FailureAtDeadline(ctx context.Context, err, failure error) error {
	var known *Failure
	if err == nil || ctx.Err() == nil || errors.As(err, &known) {
		return err
	}
	return WaitError(ctx, failure)
}
