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

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

const nmPath = "/org/freedesktop/NetworkManager"

// oneDevice is a NetworkManager with one device and one profile.
type oneDevice struct {
	mtu       atomic.Uint32
	priority  atomic.Int32
	restarted atomic.Bool
}

func (d *oneDevice) paths() (device, profile dbus.ObjectPath) {
	if d.restarted.Load() {
		return nmPath + "/Devices/2", nmPath + "/Settings/2"
	}
	return nmPath + "/Devices/1", nmPath + "/Settings/1"
}

func (d *oneDevice) GetAll(string) (map[string]dbus.Variant, *dbus.Error) {
	device, _ := d.paths()
	return map[string]dbus.Variant{
		"AllDevices": dbus.MakeVariant([]dbus.ObjectPath{device}),
		"Interface":  dbus.MakeVariant("eth0"),
		"Mtu":        dbus.MakeVariant(d.mtu.Load()),
	}, nil
}

func (d *oneDevice) ListConnections() ([]dbus.ObjectPath, *dbus.Error) {
	_, profile := d.paths()
	return []dbus.ObjectPath{profile}, nil
}

func (d *oneDevice) GetSettings() (map[string]map[string]dbus.Variant, *dbus.Error) {
	return map[string]map[string]dbus.Variant{
		"connection": {"autoconnect-priority": dbus.MakeVariant(d.priority.Load())},
		// A value that Settings.MarshalJSON refuses.
		"802-3-ethernet": {"cloned-mac-address": dbus.MakeVariant([]byte{0x52, 0x54, 0, 0xfc, 0x8e, 0x34})},
	}, nil
}

// A join gathers the facts about the network once before the migration, and once after it. Only a change of the
// host's network in the meantime makes it gather them again.
func TestNetworkIsGatheredTwiceInAJoin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a network of the test's own needs root")
	}
	bustest.Start(t)
	server := bustest.Own(t, "org.freedesktop.NetworkManager")
	host := &oneDevice{}
	for _, path := range []dbus.ObjectPath{"", "/Devices/1", "/Devices/2", "/Settings/1", "/Settings/2"} {
		flowtest.NoError(t, server.Export(host, nmPath+path, "org.freedesktop.DBus.Properties"))
		flowtest.NoError(t, server.Export(host, nmPath+path, "org.freedesktop.NetworkManager.Settings.Connection"))
	}
	flowtest.NoError(t, server.Export(host, nmPath+"/Settings", "org.freedesktop.NetworkManager.Settings"))
	nm, err := networkmanager.Open(t.Context())
	flowtest.NoError(t, err)
	defer nm.Close()
	tree, err := hostfs.OpenTree(t.TempDir())
	flowtest.NoError(t, err)

	for name, test := range map[string]struct {
		change func() // before the migration
		want   int
	}{
		"unchanged network":        {func() {}, 2},
		"NetworkManager restarted": {func() { host.restarted.Store(true) }, 2},
		"changed device":           {func() { host.mtu.Add(1) }, 3},
		"changed profile":          {func() { host.priority.Add(1) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // the thread ends with the test
			flowtest.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
			gathered := 0
			j := NewFlow(plan.Run{}, &machine.Machine{NM: nm, Tree: tree})
			j.Uplink.Gather = func(ctx context.Context, nm networkmanager.Reader) (ovs.Facts, error) {
				gathered++
				return ovs.Gather(ctx, nm)
			}
			attachment := uplinkAttachment{run: j.Run, host: j.Host, uplink: j.Uplink}
			flowtest.NoError(t, j.Uplink.Await(t.Context(), report.Log{})) // preflight
			_, err := j.Uplink.Facts(t.Context())                          // plan
			flowtest.NoError(t, err)
			_, err = j.Uplink.Refresh(t.Context()) // packages
			flowtest.NoError(t, err)
			test.change()
			request, err := attachment.currentMigration(t.Context(), report.Log{}) // network
			if report.CodeOf(err) != report.Refused {
				t.Errorf("currentMigration() = %v for a host without a default route", err)
			}
			if facts := request.Facts; len(facts.Devices) != 1 || facts.Devices[0].MTU != host.mtu.Load() ||
				len(facts.Profiles) != 1 ||
				facts.Profiles[0].Settings.Int32("connection", "autoconnect-priority") != host.priority.Load() {
				t.Errorf("the driver gets the facts %+v, which are not current", facts)
			}
			j.Uplink.Forget()
			_, err = j.Uplink.Facts(t.Context())
			flowtest.NoError(t, err)
			if gathered != test.want {
				t.Errorf("the facts were gathered %d times, want %d", gathered, test.want)
			}
		})
	}
}
