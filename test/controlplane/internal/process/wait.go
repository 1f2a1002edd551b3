package process

import (
	"context"
	"fmt"
	"time"
)

// Until calls ready every 50 ms until it returns nil. It gives up when ctx
// ends, saying what it waited for and what the last answer was, or at once
// when a child of the group ends.
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
			g.failed <- err // for whoever watches the group after us
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}
