// SPDX-License-Identifier: Apache-2.0

// Package sleep waits for a duration and returns early when a context ends. For
// is the only function.
package sleep

import (
	"context"
	"time"
)

// For waits for the duration and returns nil. If ctx ends first, or has ended
// already, For returns ctx.Err() at once.
func For(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
