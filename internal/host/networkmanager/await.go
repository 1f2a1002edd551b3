// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// AwaitStartup waits until NetworkManager responds and has finished its startup.
// systemd restarts a NetworkManager that was killed, and devices have no
// profile until NetworkManager has taken over the existing configuration.
func (c *Client) AwaitStartup(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		properties, err := c.properties(ctx, managerPath, "")
		if err == nil && !value[bool](properties, "Startup") {
			return nil
		}
		if err == nil {
			err = errors.New("NetworkManager is still starting")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for NetworkManager to start: %w", err)
		}
	}
}

// IsResponding reports whether NetworkManager responds.
func (c *Client) IsResponding(ctx context.Context) bool {
	_, err := c.properties(ctx, managerPath, "")
	return err == nil
}
