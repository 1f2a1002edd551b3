// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func link(name string, index int, addresses ...string) hostnet.Link {
	l := hostnet.Link{Name: name, Index: index}
	for _, address := range addresses {
		l.Addresses = append(l.Addresses, netip.MustParsePrefix(address))
	}
	return l
}

func TestFiles(t *testing.T) {
	f := facts(t, "bridged")
	changes, err := Files(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, change := range changes {
		if change.Target == "/run/nodeip-configuration/ipv6" && !change.Desired.Present {
			continue // the address does not exist
		}
		if change.Kind != ledger.File || change.Desired.Mode == nil || *change.Desired.Mode != 0o644 {
			t.Errorf("%s: kind %s, mode %v", change.Target, change.Kind, change.Desired.Mode)
		}
		got[change.Target] = string(change.Desired.Content)
	}
	want := map[string]string{
		"/etc/nmstate/openshift/applied":   "# br-ex was created by hcp-node-agent\n",
		"/var/lib/ovnk/iface_default_hint": "eth0\n",
		"/etc/systemd/system/kubelet.service.d/20-nodenet.conf": "[Service]\n" +
			"Environment=\"KUBELET_NODE_IP=192.0.2.177\" \"KUBELET_NODE_IPS=192.0.2.177\"\n",
		"/etc/systemd/system/crio.service.d/20-nodenet.conf": "[Service]\n" +
			"Environment=\"CONTAINER_STREAM_ADDRESS=192.0.2.177\"\n",
		"/run/nodeip-configuration/primary-ip": "192.0.2.177",
		"/run/nodeip-configuration/ipv4":       "192.0.2.177",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	boot := f
	boot.Profiles = append(slices.Clone(f.Profiles), networkmanager.Profile{
		Settings: networkmanager.Settings{"connection": {"uuid": dbus.MakeVariant("1")}},
		File:     "/run/NetworkManager/system-connections/ovs-if-br-ex.nmconnection",
	})
	boot.Devices = append(slices.Clone(f.Devices), networkmanager.Device{
		Name: BridgeName, Type: networkmanager.OVSInterface,
		Active: networkmanager.Active{UUID: "1", State: networkmanager.Activated},
	})
	if changes, err = Files(boot, nil); err != nil || !IsCreatedAtBoot(boot) || IsCreatedAtBoot(f) ||
		slices.ContainsFunc(changes, func(c ledger.Change) bool { return c.Target == appliedFile }) {
		t.Errorf("configure-ovs.sh must create br-ex again at a boot: %v, %v", changes, err)
	}
	if _, err := Files(facts(t, "dhcp"), nil); err == nil {
		t.Error("files for a bridge that is not there")
	}
	f.NodeIPHint = "203.0.113.1" // of another site
	if again, err := Files(f, nil); err != nil || len(again) == 0 {
		t.Errorf("with a hint that matches nothing: %v, %v", again, err)
	}
}

// Router advertisements are disabled in the kernel only on the agent's br-ex,
// and only if NetworkManager processes them instead.
func TestSysctlFiles(t *testing.T) {
	for name, test := range map[string]struct {
		profile, method string
		want            bool
	}{
		"ours":               {BridgeIPProfile, "auto", true},
		"IPv6 switched off":  {BridgeIPProfile, "disabled", true},
		"IPv6 by the kernel": {BridgeIPProfile, "ignore", false},
		"foreign":            {"another", "auto", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "bridged")
			settings := networkmanager.Settings{}
			settings.Set("connection", "uuid", ProfileUUID(f.MachineID, test.profile))
			settings.Set("ipv6", "method", test.method)
			f.Profiles = append(f.Profiles, networkmanager.Profile{Settings: settings})
			changes, err := Files(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.ContainsFunc(changes, func(c ledger.Change) bool {
				return c.Target == sysctlFile &&
					strings.Contains(string(c.Desired.Content), "\n-net.ipv6.conf.br-ex.accept_ra_defrtr = 0\n")
			})
			if got != test.want {
				t.Errorf("%t, want %t: %v", got, test.want, changes)
			}
			if test.profile != BridgeIPProfile {
				return
			}
			before := Migration{Profiles: Profiles{BridgeIP: settings}}.FilesBeforeMigration()
			if len(before) > 0 != test.want ||
				len(Migration{AlreadyAttached: true, Profiles: Profiles{BridgeIP: settings}}.FilesBeforeMigration()) > 0 {
				t.Errorf("before a move: %v", before)
			}
		})
	}
}
