// SPDX-License-Identifier: Apache-2.0

// Package wait waits for a duration, and determines the pauses between attempts. Sleep returns early when a context
// ends.
package wait

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// Sleep waits for the duration and returns nil. If ctx ends first, or has ended
// already, Sleep returns ctx.Err() at once.
func Sleep(ctx context.Context, duration time.Duration) error {
	defer trace.Start(ctx, trace.Pause, duration.String())()
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
