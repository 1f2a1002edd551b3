// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
)

// NetworkManager has its name on the bus before its objects. A command right after its start must not fail.
func TestOpenWhileNetworkManagerStarts(t *testing.T) {
	bustest.Start(t)
	server := bustest.Own(t, service)
	var calls atomic.Int32
	err := server.ExportMethodTable(map[string]any{
		"GetAll": func(string) (map[string]dbus.Variant, *dbus.Error) {
			if calls.Add(1) < 3 {
				return nil, dbus.NewError("org.freedesktop.DBus.Error.UnknownMethod", []any{"Object does not exist"})
			}
			return map[string]dbus.Variant{"Version": dbus.MakeVariant("1.42.4")}, nil
		},
	}, managerPath, "org.freedesktop.DBus.Properties")
	if err != nil {
		t.Fatal(err)
	}
	client, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if calls.Load() != 3 {
		t.Errorf("Open() has returned after %d calls", calls.Load())
	}
	if info, err := client.Info(t.Context()); err != nil || info.Version != "1.42.4" {
		t.Errorf("Info() = %+v, %v", info, err)
	}
}
