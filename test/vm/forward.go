// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"strings"
)

// Forward makes an address of this host, such as a test's registry, available in the machine at
// localhost:port until the connection is closed. It connects the channel if necessary.
func (c *Channel) Forward(ctx context.Context, port int, address string) error {
	if err := c.Connect(ctx); err != nil {
		return err
	}
	forward := fmt.Sprintf("localhost:%d:%s", port, address)
	if out, err := c.ssh(ctx, "-O", "forward", "-R", forward, c.address).CombinedOutput(); err != nil {
		return fmt.Errorf("forwarding %s: %w: %s", forward, err, strings.TrimSpace(string(out)))
	}
	return nil
}
