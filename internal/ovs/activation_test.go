// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
)

func TestAwaitedActivation(t *testing.T) {
	dynamic := networkmanager.Settings{}
	dynamic.Set("connection", "uuid", "u")
	dynamic.Set("ipv4", "method", "auto")
	static := networkmanager.Settings{}
	static.Set("connection", "uuid", "u")
	static.Set("ipv4", "method", "manual")
	address := networkmanager.IP{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}
	device := func(name string, state networkmanager.ActiveState) networkmanager.Device {
		return networkmanager.Device{
			Name: name, Type: networkmanager.Ethernet, Managed: true,
			Active: networkmanager.Active{UUID: "u", State: state},
		}
	}
	withAddress := device("eth0", networkmanager.Activating)
	withAddress.IPv4 = address
	leased := withAddress
	leased.IPv4.DHCP = map[string]string{"ip_address": "192.0.2.7"}

	booting := networkmanager.Info{Running: true, Starting: true}
	booted := networkmanager.Info{Running: true}
	route := []hostnet.Route{{Link: "eth0", Family: 4, Metric: 100}}
	bridge := OpenVSwitch{Installed: true, Running: true, Bridges: []openvswitch.Bridge{{Name: BridgeName}}}
	none := networkmanager.ActiveState(0)
	tests := map[string]struct {
		nm       networkmanager.Info
		devices  []networkmanager.Device
		routes   []hostnet.Route
		ovs      OpenVSwitch
		settings networkmanager.Settings
		hint     string
		noHint   bool // the file for the hint is empty
		want     string
	}{
		"the uplink is active": {
			nm:      booting,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activated)},
			routes:  route,
		},
		"the uplink is active, another is not": {
			nm: booted,
			devices: []networkmanager.Device{
				device("eth0", networkmanager.Activated),
				device("eth1", networkmanager.Activating),
			},
			routes: route,
		},
		"the uplink is being activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activating)},
			routes:  route,
			want:    "NetworkManager to activate eth0",
		},
		"the uplink is not activated yet": {
			nm:      booting,
			devices: []networkmanager.Device{device("eth0", none)},
			routes:  route,
			want:    "NetworkManager to activate eth0",
		},
		"the uplink is not activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("eth0", none)},
			routes:  route,
		},
		"the selected uplink is being activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activating)},
			hint:    "eth0",
			want:    "NetworkManager to activate eth0",
		},
		"the selected uplink does not exist": {nm: booting, hint: "eth9"},
		"no default route, while starting": {
			nm:      booting,
			devices: []networkmanager.Device{device("eth0", none)},
			want:    "a default route",
		},
		"no default route, an uplink is activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activating)},
			want:    "a default route",
		},
		"no default route, a pod is activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("cni0", networkmanager.Activating)},
		},
		"no default route, nothing is activated": {
			nm:      booted,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activated)},
		},
		"no default route, but an empty hint": {
			nm:      booting,
			devices: []networkmanager.Device{device("eth0", none)},
			noHint:  true,
		},
		"static addresses": {
			nm:       booted,
			devices:  []networkmanager.Device{withAddress},
			routes:   route,
			settings: static,
			want:     "NetworkManager to activate eth0",
		},
		"an address just leased": {
			nm:      booted,
			devices: []networkmanager.Device{leased},
			routes:  route,
			want:    "NetworkManager to activate eth0",
		},
		"an address kept without a DHCP server": {
			nm:      booted,
			devices: []networkmanager.Device{withAddress},
			routes:  route,
		},
		"br-ex is being activated": {
			nm:  booted,
			ovs: bridge,
			devices: []networkmanager.Device{
				device("eth0", networkmanager.Activated),
				device(BridgeName, networkmanager.Activating),
			},
			routes: route,
			want:   "NetworkManager to activate br-ex",
		},
		"br-ex is not activated yet": {
			nm:      booting,
			ovs:     bridge,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activated)},
			routes:  route,
			want:    "NetworkManager to activate br-ex",
		},
		"br-ex is not activated": {
			nm:      booted,
			ovs:     bridge,
			devices: []networkmanager.Device{device("eth0", networkmanager.Activated)},
			routes:  route,
		},
		"NetworkManager does not run": {devices: []networkmanager.Device{device("eth0", none)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			settings := test.settings
			if settings == nil {
				settings = dynamic
			}
			facts := Facts{
				NetworkManager: test.nm,
				Devices:        test.devices,
				Profiles:       []networkmanager.Profile{{Settings: settings}},
				Links: []hostnet.Link{
					{Name: "eth0", Index: 2},
					{Name: "eth1", Index: 3},
					{Name: "cni0", Index: 4},
					{Name: BridgeName, Index: 5},
				},
				Routes:          test.routes,
				OVS:             test.ovs,
				BridgeHintEmpty: test.noHint,
			}
			if got := awaitedActivation(facts, Options{BridgeInterface: test.hint}); got != test.want {
				t.Errorf("awaitedActivation() = %q, want %q", got, test.want)
			}
		})
	}
}

// fakeNetworkManager has one device, lo, which is being activated for a number of reads.
type fakeNetworkManager struct{ activatingReads atomic.Int32 }

const (
	nmName   = "org.freedesktop.NetworkManager"
	nmPath   = "/org/freedesktop/NetworkManager"
	noObject = dbus.ObjectPath("/")
)

func (f *fakeNetworkManager) GetAll(name string) (map[string]dbus.Variant, *dbus.Error) {
	properties := map[string]any{
		"AllDevices": []dbus.ObjectPath{nmPath + "/Devices/1"},
		"Interface":  "lo", "DeviceType": uint32(networkmanager.Ethernet), "Managed": true,
		"ActiveConnection": dbus.ObjectPath(nmPath + "/ActiveConnection/1"),
		"Ip4Config":        noObject, "Ip6Config": noObject, "Dhcp4Config": noObject, "Dhcp6Config": noObject,
		"Uuid": "u", "State": uint32(networkmanager.Activating),
	}
	if name == nmName+".Connection.Active" {
		if f.activatingReads.Add(-1) < 0 {
			properties["State"] = uint32(networkmanager.Activated)
		}
	}
	variants := map[string]dbus.Variant{}
	for name, value := range properties {
		variants[name] = dbus.MakeVariant(value)
	}
	return variants, nil
}

func (f *fakeNetworkManager) ListConnections() ([]dbus.ObjectPath, *dbus.Error) { return nil, nil }

// waits collects the messages of waiting events.
type waits struct {
	messages []string
	onWait   func()
}

func (w *waits) Emit(event report.Event) {
	if event.Kind == report.Waiting && !slices.Contains(w.messages, event.Message) {
		w.messages = append(w.messages, event.Message)
	}
	w.onWait()
}

func TestAwaitActivation(t *testing.T) {
	bustest.Start(t)
	server := bustest.Own(t, nmName)
	fake := &fakeNetworkManager{}
	for _, path := range []dbus.ObjectPath{nmPath, nmPath + "/Devices/1", nmPath + "/ActiveConnection/1"} {
		if err := server.Export(fake, path, "org.freedesktop.DBus.Properties"); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Export(fake, nmPath+"/Settings", nmName+".Settings"); err != nil {
		t.Fatal(err)
	}
	nm, err := networkmanager.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer nm.Close()
	interrupted := errors.New("interrupted")
	awaited := []string{"waiting for NetworkManager to activate lo"}
	for name, test := range map[string]struct {
		activatingReads int32
		interrupts      bool
		want            error
		waits           []string
	}{
		"is active":           {},
		"is activated later":  {activatingReads: 1, waits: awaited},
		"the run is canceled": {activatingReads: 1000, interrupts: true, want: interrupted, waits: awaited},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			fake.activatingReads.Store(test.activatingReads)
			logged := &waits{onWait: func() {
				if test.interrupts {
					cancel(interrupted)
				}
			}}
			gather := func(ctx context.Context) (Facts, error) { return Gather(ctx, nm) }
			err := AwaitActivation(ctx, gather, Options{BridgeInterface: "lo"}, report.Log{Sink: logged})
			if !errors.Is(err, test.want) {
				t.Errorf("AwaitActivation() = %v, want %v", err, test.want)
			}
			if diff := cmp.Diff(test.waits, logged.messages); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
