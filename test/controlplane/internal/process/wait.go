// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"time"
)

// Until calls ready every 50 ms until it returns nil. It returns an error with the awaited
// condition and the last result when ctx ends, or at once when a child of the group exits.
func (g *Group) Until(ctx context.Context, what string, ready func(context.Context) error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case err := <-g.failed:
			g.failed <- err // for the next receiver
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}
