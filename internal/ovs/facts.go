// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Facts contains everything that the decision about br-ex depends on.
type Facts struct {
	MachineID       string                   `json:"machineID"`
	NetworkManager  networkmanager.Info      `json:"networkManager"`
	Devices         []networkmanager.Device  `json:"devices"`
	Profiles        []networkmanager.Profile `json:"profiles"`
	Links           []hostnet.Link           `json:"links"`
	Routes          []hostnet.Route          `json:"routes"`
	OVS             OpenVSwitch              `json:"ovs"`
	BridgeHint      string                   `json:"bridgeHint,omitempty"`      // /etc/ovnk/default_bridge
	BridgeHintEmpty bool                     `json:"bridgeHintEmpty,omitempty"` // that file exists and is empty
	SavedUplink     string                   `json:"savedUplink,omitempty"`     // /var/lib/ovnk/iface_default_hint
	PrimaryIP       string                   `json:"primaryIP,omitempty"`       // /run/nodeip-configuration/primary-ip
	NodeIPHint      string                   `json:"nodeIPHint,omitempty"`      // /etc/default/nodeip-configuration
	NodeIPs         nodeip.Addresses         `json:"nodeIPs,omitzero"`          // of kubelet's drop-in
	NodeIPv6First   bool                     `json:"nodeIPv6First,omitempty"`   // IPv6 is the first family of the cluster
	NodeIPv6        bool                     `json:"nodeIPv6,omitempty"`        // the cluster has IPv6, also beside IPv4

	// For remedies: the routes of all tables, and the name servers.
	TableRoutes []hostnet.TableRoute `json:"tableRoutes,omitempty"`
	Resolver    hostnet.Resolver     `json:"resolver"`

	// HostRules is nil if GatherHostRules was not called, or if there is no uplink to attach.
	HostRules *hostrules.Rules `json:"hostRules,omitempty"`
}

// OpenVSwitch is the state of Open vSwitch.
type OpenVSwitch struct {
	Installed bool                 `json:"installed"`
	Running   bool                 `json:"running"` // the database responds
	Bridges   []openvswitch.Bridge `json:"bridges,omitempty"`
}

// bridgeHintFile names the uplink on hosts where the default route does not identify
// it. configure-ovs.sh reads it too (from OpenShift 4.15).
const bridgeHintFile = "/etc/ovnk/default_bridge"

// Gather collects the facts. A nil nm means that NetworkManager is not running.
func Gather(ctx context.Context, nm networkmanager.Reader) (Facts, error) {
	var facts Facts
	// Whether NetworkManager still starts is read first: the devices that are read afterwards are those after its start.
	if err := facts.Refresh(ctx, nm); err != nil {
		return facts, err
	}
	now, err := gatherConfiguration(ctx, nm)
	if err != nil {
		return facts, err
	}
	facts.Links, facts.Routes, facts.Devices, facts.Profiles = now.Links, now.Routes, now.Devices, now.Profiles
	if facts.TableRoutes, err = hostnet.TableRoutes(); err != nil {
		return facts, err
	}
	facts.Resolver, err = hostnet.ReadResolver()
	return facts, err
}

// IsStale reports whether the links, the default routes, the devices or the profiles of NetworkManager differ from
// the facts. A migration with such facts would roll back to addresses, leases and profiles that are not current. The
// check reads only netlink and D-Bus, and starts no program: ovs-vsctl can take ten seconds on a busy host.
func (f Facts) IsStale(ctx context.Context, nm networkmanager.Reader) (bool, error) {
	now, err := gatherConfiguration(ctx, nm)
	if err != nil {
		return false, err
	}
	then := Facts{Devices: f.Devices, Profiles: f.Profiles, Links: f.Links, Routes: f.Routes}
	return !reflect.DeepEqual(then.withoutPaths(), now.withoutPaths()), nil
}

// withoutPaths returns the facts without D-Bus paths, which change at a restart of NetworkManager.
func (f Facts) withoutPaths() Facts {
	f.Devices, f.Profiles = slices.Clone(f.Devices), slices.Clone(f.Profiles)
	for i := range f.Devices {
		f.Devices[i].Path = ""
	}
	for i := range f.Profiles {
		f.Profiles[i].Ref = ""
	}
	return f
}

// Refresh reads again what the steps of a join change: NetworkManager's plugins, the files, and Open vSwitch until
// it runs. Afterwards its bridges only change together with the links, which IsStale compares.
func (f *Facts) Refresh(ctx context.Context, nm networkmanager.Reader) error {
	var err error
	if nm != nil {
		if f.NetworkManager, err = nm.Info(ctx); err != nil {
			return err
		}
	}
	if !f.OVS.Running {
		if f.OVS, err = gatherOpenVSwitch(ctx); err != nil {
			return err
		}
	}
	return f.gatherFiles()
}

// gatherConfiguration collects the links, the default routes, and the devices and profiles of NetworkManager.
func gatherConfiguration(ctx context.Context, nm networkmanager.Reader) (Facts, error) {
	facts, err := GatherAddresses(ctx, nm)
	if err == nil && nm != nil {
		facts.Profiles, err = nm.Profiles(ctx)
	}
	return facts, err
}

// GatherAddresses collects only the links, the default routes and the devices: enough for
// AddressStateOf and AddressState.Missing.
func GatherAddresses(ctx context.Context, nm networkmanager.Reader) (facts Facts, err error) {
	if facts.Links, err = hostnet.Links(); err != nil {
		return facts, err
	}
	if facts.Routes, err = hostnet.DefaultRoutes(); err != nil || nm == nil {
		return facts, err
	}
	facts.Devices, err = nm.Devices(ctx)
	return facts, err
}

func (f *Facts) gatherFiles() error {
	var there bool
	var err error
	for _, file := range []struct {
		path string
		text *string
	}{
		{"/etc/machine-id", &f.MachineID}, {savedUplinkFile, &f.SavedUplink}, {nodeip.PrimaryFile, &f.PrimaryIP},
	} {
		if *file.text, _, err = readLine(file.path); err != nil {
			return err
		}
	}
	if f.BridgeHint, there, err = readLine(bridgeHintFile); err != nil {
		return err
	}
	f.BridgeHintEmpty = there && f.BridgeHint == ""
	if f.NodeIPHint, err = nodeip.ReadHint(); err != nil {
		return err
	}
	if f.NodeIPs, err = nodeip.Configured(); err != nil {
		return err
	}
	if f.NodeIPv6, err = nodeip.UsesIPv6(); err != nil {
		return err
	}
	f.NodeIPv6First, err = nodeip.PrefersIPv6()
	return err
}

func gatherOpenVSwitch(ctx context.Context) (OpenVSwitch, error) {
	if !command.Exists("ovs-vsctl") {
		return OpenVSwitch{}, nil
	}
	database, err := openvswitch.ReadDatabase(ctx)
	var failed *command.Error
	if errors.As(err, &failed) {
		return OpenVSwitch{Installed: true}, nil
	}
	return OpenVSwitch{Installed: true, Running: err == nil, Bridges: database.Bridges}, err
}

// readLine reads a file of one line, and reports whether the file exists.
func readLine(path string) (string, bool, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	return strings.TrimSpace(string(content)), true, wrap.Errorf(err, "gathering network facts")
}

// Link returns the network interface with that name.
func (f Facts) Link(name string) (hostnet.Link, bool) {
	return find(f.Links, func(link hostnet.Link) bool { return link.Name == name })
}

// linkAt returns the network interface with that index.
func (f Facts) linkAt(index int) (hostnet.Link, bool) {
	return find(f.Links, func(link hostnet.Link) bool { return index != 0 && link.Index == index })
}

// Device returns the device of that name that has the addresses: never an Open
// vSwitch bridge or port.
func (f Facts) Device(name string) (networkmanager.Device, bool) {
	return find(f.Devices, func(device networkmanager.Device) bool {
		return device.Name == name && device.Type != networkmanager.OVSBridge && device.Type != networkmanager.OVSPort
	})
}

// Profile returns the NetworkManager profile with that UUID.
func (f Facts) Profile(uuid string) (networkmanager.Profile, bool) {
	return find(f.Profiles, func(profile networkmanager.Profile) bool { return uuid != "" && profile.UUID() == uuid })
}

// bridge returns br-ex.
func (f Facts) bridge() (openvswitch.Bridge, bool) {
	return find(f.OVS.Bridges, func(bridge openvswitch.Bridge) bool { return bridge.Name == BridgeName })
}

// find returns the first item for which is returns true, or false if there is none.
func find[T any](items []T, is func(T) bool) (item T, ok bool) {
	if i := slices.IndexFunc(items, is); i >= 0 {
		return items[i], true
	}
	return item, false
}
