package vm

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Connect makes the connection unless it stands. One attempt; see
// [Machine.WaitSSH] for a machine that is still booting.
func (c *Channel) Connect(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.master != nil && !c.master.Ended() {
		return nil
	}
	_ = os.Remove(c.socket) // left by a master that was killed
	// Not the caller's context: the connection outlives the first command.
	cmd := c.ssh(context.Background(), "-M", "-N", c.address)
	var said strings.Builder
	cmd.Stderr = &said
	master, err := child.Start(cmd)
	if err != nil {
		return err
	}
	// The socket appears when the connection is made and accepted.
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			master.Kill()
			return fmt.Errorf("connecting to %s: %w", c.address, context.Cause(ctx))
		case <-master.Done():
			return fmt.Errorf("connecting to %s: %w: %s", c.address, master.Err(), said.String())
		case <-tick.C:
		}
		if _, err := os.Stat(c.socket); err == nil {
			tick.Stop()
			c.master = master
			return nil
		}
	}
}

// Disconnect ends the connection, if there is one. Commands that still run on
// it fail; in the machine they go on.
func (c *Channel) Disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.master != nil {
		c.master.Kill()
		c.master = nil
	}
}

// Connected tells whether the connection stands. One whose other end has gone
// silent still stands, as any TCP connection.
func (c *Channel) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.master != nil && !c.master.Ended()
}

// lost waits until the machine has closed the connection.
func (c *Channel) lost(ctx context.Context) error {
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
