// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// reexecTimeout is the maximum time until systemd responds after it has executed itself again.
const reexecTimeout = time.Minute

// Reexecute makes systemd load its own configuration, and waits until it responds on the system bus
// again: until then, other requests fail.
func Reexecute(ctx context.Context) error {
	if _, err := command.Run(ctx, "systemctl", "daemon-reexec"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reexecTimeout)
	defer cancel()
	m, err := Open(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	for {
		_, err := m.conn.SystemStateContext(ctx)
		if err == nil {
			return nil
		}
		if wait.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("waiting for systemd after systemctl daemon-reexec: %w", err)
		}
	}
}
