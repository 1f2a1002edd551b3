// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
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
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is not reported", what)
		}
	}
	for _, name := range []string{"IP4Config", "IP6Config", "Device", "Settings"} {
		change(server, name)
		received("a change of " + name)
	}
	server.Close()
	restarted := bustest.Own(t, service)
	change(restarted, "IP4Config")
	received("a change after a restart of NetworkManager")

	// Signals arrive in order: the second value can only be the address.
	change(restarted, "Device.Statistics")
	change(restarted, "IP4Config")
	received("a change of an address")
	select {
	case <-changed:
		t.Error("a change of statistics is reported")
	case <-time.After(100 * time.Millisecond):
	}
	stop()
	select {
	case _, open := <-changed:
		if open {
			t.Error("a change is reported after the end")
		}
	case <-time.After(10 * time.Second):
		t.Error("the channel is open after the end")
	}
}
