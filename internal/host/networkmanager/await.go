// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// AwaitStartup waits until NetworkManager responds and has finished its startup.
// systemd restarts a NetworkManager that was killed, and devices have no
// profile until NetworkManager has taken over the existing configuration.
func (c *Client) AwaitStartup(ctx context.Context) error {
	for {
		info, err := c.Info(ctx)
		if err == nil && info.Starting {
			err = errors.New("NetworkManager is still starting")
		}
		if err == nil {
			return nil
		}
		if wait.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("waiting for NetworkManager to start: %w", err)
		}
	}
}

// IsResponding reports whether NetworkManager responds.
func (c *Client) IsResponding(ctx context.Context) bool {
	_, err := c.Info(ctx)
	return err == nil
}
