// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

const nmPath = "/org/freedesktop/NetworkManager"

// oneDevice is a NetworkManager with one device.
type oneDevice struct{ mtu atomic.Uint32 }

func (d *oneDevice) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	return map[string]dbus.Variant{
		"AllDevices": dbus.MakeVariant([]dbus.ObjectPath{nmPath + "/Devices/1"}),
		"Interface":  dbus.MakeVariant("eth0"),
		"Mtu":        dbus.MakeVariant(d.mtu.Load()),
	}, nil
}

func (d *oneDevice) ListConnections() ([]dbus.ObjectPath, *dbus.Error) { return nil, nil }

// A join gathers the facts about the network once before the migration, and once after it. Only a change of the
// host's network in the meantime makes it gather them again.
func TestNetworkIsGatheredTwiceInAJoin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a network of the test's own needs root")
	}
	bustest.Start(t)
	server := bustest.Own(t, "org.freedesktop.NetworkManager")
	host := &oneDevice{}
	for _, path := range []dbus.ObjectPath{nmPath, nmPath + "/Devices/1"} {
		flowtest.NoError(t, server.Export(host, path, "org.freedesktop.DBus.Properties"))
	}
	flowtest.NoError(t, server.Export(host, nmPath+"/Settings", "org.freedesktop.NetworkManager.Settings"))
	nm, err := networkmanager.Open(t.Context())
	flowtest.NoError(t, err)
	defer nm.Close()

	for name, test := range map[string]struct {
		changes bool // the network changes before the migration
		want    int
	}{
		"unchanged network": {false, 2},
		"changed network":   {true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // the thread ends with the test
			flowtest.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
			gathered := 0
			j := NewFlow(plan.Run{}, &machine.Machine{NM: nm})
			j.Planner.GatherNetwork = func(ctx context.Context, nm networkmanager.Reader) (ovs.Facts, error) {
				gathered++
				return ovs.Gather(ctx, nm)
			}
			flowtest.NoError(t, j.Planner.AwaitUplink(t.Context(), report.Log{})) // preflight
			_, err := j.Planner.Network(t.Context())                              // plan
			flowtest.NoError(t, err)
			_, err = j.Planner.RefreshNetwork(t.Context()) // packages
			flowtest.NoError(t, err)
			if test.changes {
				host.mtu.Add(1)
			}
			request, err := j.currentMigration(t.Context(), report.Log{}) // network
			if report.CodeOf(err) != report.Refused {
				t.Errorf("currentMigration() = %v for a host without a default route", err)
			}
			if len(request.Facts.Devices) != 1 || request.Facts.Devices[0].MTU != host.mtu.Load() {
				t.Errorf("the driver gets the facts %+v, which are not current", request.Facts)
			}
			j.Planner.ForgetNetwork()
			_, err = j.Planner.Network(t.Context())
			flowtest.NoError(t, err)
			if gathered != test.want {
				t.Errorf("the facts were gathered %d times, want %d", gathered, test.want)
			}
		})
	}
}
