package bootstrap

import (
	"context"
	"time"
)

// sleep waits for the duration or until ctx ends.
func sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
