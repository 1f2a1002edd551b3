// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Watch must report changes of addresses and of the host name, and no others, also after
// NetworkManager has restarted. It must end with its context.
func TestWatch(t *testing.T) {
	bustest.Start(t)
	server := bustest.Own(t, service)
	client, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changed, err := client.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	change := func(server *dbus.Conn, name string) {
		t.Helper()
		err := server.Emit("/org/freedesktop/NetworkManager/x", "org.freedesktop.DBus.Properties.PropertiesChanged",
			service+"."+name, map[string]dbus.Variant{}, []string{})
		if err != nil {
			t.Fatal(err)
		}
	}
	received := func(what string) {
		t.Helper()
		waittest.Receive(t, "waiting for "+what, changed)
	}
	for _, name := range []string{"IP4Config", "IP6Config", "Device", "Settings"} {
		change(server, name)
		received("a change of " + name)
	}
	server.Close()
	restarted := bustest.Own(t, service)
	change(restarted, "IP4Config")
	received("a change after a restart of NetworkManager")

	// Signals arrive in order: the first can only be the address.
	signals := make(chan *dbus.Signal, 1)
	client.bus.Signal(signals)
	change(restarted, "Device.Statistics")
	change(restarted, "IP4Config")
	if first := waittest.Receive(t, "waiting for a signal", signals); first.Body[0] != service+".IP4Config" {
		t.Errorf("a change of statistics is reported: %v", first)
	}
	client.bus.RemoveSignal(signals)
	received("a change of an address")
	stop()
	waittest.Until(t, "waiting for the end of the channel", func() (any, bool) {
		select {
		case _, open := <-changed:
			if open {
				t.Error("a change is reported after the end")
			}
			return open, !open
		default:
			return "open", false
		}
	})
}
