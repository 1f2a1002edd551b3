// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Connect connects the channel if it is not connected. It makes one attempt; see
// [Machine.WaitSSH] for a machine that is still booting.
func (c *Channel) Connect(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.master != nil && !c.master.Ended() {
		return nil
	}
	_ = os.Remove(c.socket) // left by a master process that was killed
	// The connection must outlive the first command, and therefore its context.
	cmd := c.ssh(context.Background(), "-M", "-N", c.address)
	var output strings.Builder
	cmd.Stderr = &output
	master, err := child.Start(cmd)
	if err != nil {
		return err
	}
	// ssh creates the socket when the connection is established.
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			master.Kill()
			return fmt.Errorf("connecting to %s: %w", c.address, context.Cause(ctx))
		case <-master.Done():
			return fmt.Errorf("connecting to %s: %w: %s", c.address, master.Err(), output.String())
		case <-tick.C:
		}
		if _, err := os.Stat(c.socket); err == nil {
			tick.Stop()
			c.master = master
			return nil
		}
	}
}

// Disconnect closes the connection. Commands that use it fail, but continue to run in the
// machine.
func (c *Channel) Disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.master != nil {
		c.master.Kill()
		c.master = nil
	}
}

// Connected reports whether the connection exists. Like any TCP connection, it also exists while
// the other end does not respond.
func (c *Channel) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.master != nil && !c.master.Ended()
}

// awaitClosed waits until the machine has closed the connection.
func (c *Channel) awaitClosed(ctx context.Context) error {
	c.mu.Lock()
	master := c.master
	c.mu.Unlock()
	if master == nil {
		return nil
	}
	select {
	case <-master.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
