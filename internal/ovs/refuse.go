// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Refuse returns an error with the exit code of a failed check.
func Refuse(remedy report.Remedy, format string, args ...any) error {
	return report.Fail(report.Refused, remedy, format, args...)
}

// refuseSoftware refuses a host that lacks a required package. Open vSwitch may
// still be stopped: the join starts it before the migration.
func refuseSoftware(facts Facts, options Options) error {
	switch {
	case !facts.OVS.Installed:
		return Refuse("# Open vSwitch is in the Fast Datapath repository; print its versions: dnf list 'openvswitch3*'\n"+
			"dnf install openvswitch3.5 && systemctl enable --now openvswitch",
			"Open vSwitch is not installed (no ovs-vsctl)")
	case !facts.NetworkManager.Running:
		return Refuse(StartRemedy(facts, options), "NetworkManager is not running; it is required to create br-ex")
	case !facts.NetworkManager.OVS:
		return Refuse("dnf install NetworkManager-ovs && systemctl restart NetworkManager",
			"NetworkManager has not loaded its Open vSwitch plugin")
	case !atLeast(facts.NetworkManager.Version, 1, 30):
		// Older versions lack ovs-external-ids, without which bridge-uplink is lost at
		// a restart.
		return Refuse("dnf upgrade NetworkManager NetworkManager-ovs && systemctl restart NetworkManager",
			"NetworkManager %s is too old; version 1.30 or later is required", facts.NetworkManager.Version)
	}
	return nil
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || (a == major && b >= minor))
}

// refuseForeignBridge refuses a bridge or profiles that another program has
// created under the agent's names. What an earlier run of the agent has left is
// removed before the migration.
func refuseForeignBridge(facts Facts) error {
	managed := ProfileUUIDs(facts.MachineID)
	isActive := func(profile networkmanager.Profile) bool {
		return slices.ContainsFunc(facts.Devices, func(device networkmanager.Device) bool {
			return device.Active.UUID == profile.UUID()
		})
	}
	if bridge, ok := facts.bridge(); ok && bridge.ExternalIDs["NM.connection.uuid"] != managed[BridgeProfile] {
		return Refuse("ovs-vsctl show",
			"a foreign Open vSwitch bridge br-ex exists without a default route; complete its configuration, or remove it "+
				"if it is unused (ovs-vsctl del-br br-ex)")
	}
	for _, profile := range facts.Profiles {
		settings := profile.Settings
		isBridge := settings.Text("connection", "type") == "ovs-bridge" &&
			settings.Text("connection", "interface-name") == BridgeName
		if isBridge && profile.UUID() != managed[BridgeProfile] {
			// The ports name their bridge br-ex, and NetworkManager could choose this
			// profile.
			remedy := report.Remedy("nmcli connection delete uuid " + profile.UUID())
			if isActive(profile) {
				remedy = report.Remedy("nmcli connection show uuid " + profile.UUID())
			}
			return Refuse(remedy,
				"br-ex is not active, and another NetworkManager profile for a bridge %s exists: %s; delete that profile",
				BridgeName, profile.ID())
		}
		_, named := managed[profile.ID()]
		named = named || strings.HasSuffix(profile.ID(), cloneSuffix)
		if named && profile.UUID() != ProfileUUID(facts.MachineID, profile.ID()) {
			if isActive(profile) {
				return Refuse(report.Remedyf("nmcli connection modify uuid %s connection.id %s-foreign", profile.UUID(),
					profile.ID()),
					"br-ex is not active, and a foreign NetworkManager profile has the name %s; rename that profile", profile.ID())
			}
			return Refuse(report.Remedy("nmcli connection delete uuid "+profile.UUID()),
				"br-ex is not active, and a foreign NetworkManager profile %s exists; delete that profile", profile.ID())
		}
	}
	return nil
}

func refuseProfile(
	facts Facts, link hostnet.Link, device networkmanager.Device, original networkmanager.Profile,
) error {
	settings, uplink := original.Settings, link.Name
	if original.External {
		return refuseUnconfigured(facts, link, device, report.Remedy("nmcli device show "+uplink),
			"%s is configured by another program and only monitored by NetworkManager; create a NetworkManager profile for it",
			uplink)
	}
	return refuseSecrets("the uplink "+uplink, settings)
}

// refuseSecrets refuses a profile with 802.1X: NetworkManager does not return its passwords, and a copy without them
// would not be authenticated.
func refuseSecrets(name string, settings networkmanager.Settings) error {
	if _, ok := settings["802-1x"]; !ok {
		return nil
	}
	return Refuse(report.Remedy("nmcli connection show uuid "+settings.Text("connection", "uuid")),
		"%s uses 802.1X, which cannot be migrated to br-ex; create br-ex manually, then rerun the command", name)
}

// refuseFamilies refuses addressing that br-ex cannot have.
func refuseFamilies(facts Facts, link hostnet.Link, original networkmanager.Profile, now nmprofile.IPState) error {
	show := report.Remedy("nmcli connection show uuid " + original.UUID())
	if len(now[networkmanager.IPv4].Addresses)+len(now[networkmanager.IPv6].Addresses) == 0 {
		return Refuse("ip -br address", "the uplink %s has no address", link.Name)
	}
	for _, family := range networkmanager.Families() {
		switch method := original.Settings.Method(family); {
		case method == "shared":
			return Refuse(show, "the uplink %s shares its connection by %s (method \"shared\"), which br-ex does not support",
				link.Name, family)
		case method == "ignore" && len(now[family].Addresses) > 0,
			(method == "disabled" || method == "link-local") && slices.ContainsFunc(now[family].Addresses, isGlobal):
			return Refuse(report.Remedyf("nmcli connection modify uuid %s %s && nmcli device reapply %s",
				original.UUID(), staticArguments(facts, link, family), link.Name),
				"the uplink %s has %s addresses that its NetworkManager profile does not manage (method %q) and that "+
					"would be lost", link.Name, family, method)
		}
	}
	return nil
}

func isGlobal(prefix netip.Prefix) bool { return prefix.Addr().IsGlobalUnicast() }

// refuseWithoutDefaultRoute refuses an uplink without a default route. OVN-Kubernetes
// determines the gateway from the default route of br-ex
// (getDefaultGatewayInterfaceDetails in
// go-controller/pkg/node/helper_linux.go). Without a gateway the migration
// could also not be verified.
func refuseWithoutDefaultRoute(
	facts Facts, uplink string, original networkmanager.Profile, now nmprofile.IPState,
) error {
	family := networkmanager.IPv6
	for _, f := range networkmanager.Families() {
		if _, ok := hostnet.DefaultRouteOf(facts.Routes, int(f), uplink); ok {
			return nil
		}
		if f == networkmanager.IPv4 && len(now[f].Addresses) > 0 {
			family = f
		}
	}
	return Refuse(report.Remedyf("nmcli connection modify uuid %s %s && nmcli device reapply %s", original.UUID(),
		addDefaultRouteArguments(original.Settings, family), uplink),
		"the uplink %s has no default route, and OVN-Kubernetes requires one over br-ex; add one, or select another "+
			"interface with --bridge-interface", uplink)
}

// addDefaultRouteArguments returns the arguments of nmcli that add a default route to a profile.
// A gateway requires manual addresses.
func addDefaultRouteArguments(s networkmanager.Settings, family networkmanager.Family) string {
	section := family.Section()
	never, _ := s[section]["never-default"].Value().(bool)
	switch {
	case never:
		return section + ".never-default no"
	case s.Method(family) == "manual":
		return section + ".gateway GATEWAY"
	case family == networkmanager.IPv4:
		return "+" + section + ".routes '0.0.0.0/0 GATEWAY'"
	}
	return "+" + section + ".routes '::/0 GATEWAY'"
}
