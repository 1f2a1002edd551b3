package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Await waits until NetworkManager answers and has ended its own start: one
// that was killed is started again by systemd, and until it has taken over
// what it finds, devices have no profile.
func (c *Client) Await(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		properties, err := c.properties(ctx, managerPath, "")
		if err == nil && !value[bool](properties, "Startup") {
			return nil
		}
		if err == nil {
			err = errors.New("it is still starting")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for NetworkManager to run: %w", err)
		}
	}
}

// Answers tells whether NetworkManager is there.
func (c *Client) Answers(ctx context.Context) bool {
	_, err := c.properties(ctx, managerPath, "")
	return err == nil
}
