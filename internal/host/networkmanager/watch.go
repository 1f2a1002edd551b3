// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// watchedInterfaces lists the interfaces whose properties contain the addresses of the host and its name.
var watchedInterfaces = []string{"Device", "IP4Config", "IP6Config", "Settings"}

// Watch returns a channel that receives a value after the addresses or the name of the host
// may have changed. Changes in quick succession are combined. NetworkManager may restart
// meanwhile. The channel is closed when ctx ends or the connection to the bus is lost.
func (c *Client) Watch(ctx context.Context) (<-chan struct{}, error) {
	for _, name := range watchedInterfaces {
		err := c.bus.AddMatchSignalContext(ctx, dbus.WithMatchSender(service),
			dbus.WithMatchInterface("org.freedesktop.DBus.Properties"), dbus.WithMatchMember("PropertiesChanged"),
			dbus.WithMatchArg(0, interfaceName(name)))
		if err != nil {
			return nil, fmt.Errorf("subscribing to changes of NetworkManager: %w", err)
		}
	}
	signals := make(chan *dbus.Signal, 16) // godbus queues further signals
	c.bus.Signal(signals)
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		defer c.bus.RemoveSignal(signals)
		for {
			select {
			case _, open := <-signals:
				if !open {
					return
				}
				select {
				case changed <- struct{}{}:
				default: // one is pending
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return changed, nil
}
