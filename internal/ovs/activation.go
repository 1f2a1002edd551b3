// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmprofile"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	// activationTimeout is the time in which NetworkManager makes its four attempts to
	// activate a profile, with the default DHCP timeout of 45 seconds for each one.
	activationTimeout  = 3 * time.Minute
	activationInterval = time.Second
	// leaseTimeout is the default DHCP timeout of NetworkManager.
	leaseTimeout = 45 * time.Second

	activationRemedy = "nmcli device status # prints what NetworkManager is activating"
)

// AwaitActivation waits while NetworkManager is still activating the uplink or br-ex, as after a
// boot. It calls current for the current facts until then. If NetworkManager has not finished after
// activationTimeout, this is not an error: Plan then refuses what is missing.
func AwaitActivation(
	ctx context.Context, current func(context.Context) (Facts, error), options Options, log report.Log,
) error {
	limited, cancel := context.WithTimeout(ctx, activationTimeout)
	defer cancel()
	lateUntil := time.Now().Add(leaseTimeout)
	for {
		facts, err := current(ctx)
		if err != nil {
			return err
		}
		awaited := awaitedActivation(facts, options)
		if awaited == "" && time.Now().Before(lateUntil) {
			awaited = awaitedLease(facts, options)
		}
		if awaited == "" || limited.Err() != nil {
			return nil
		}
		log.Wait("waiting for "+awaited, activationRemedy)
		_ = wait.Sleep(limited, activationInterval) // the facts are read once more at the end
		if ctx.Err() != nil {
			err := report.Fail(report.Failed, activationRemedy, "timed out while waiting for %s", awaited)
			return report.WaitError(ctx, err)
		}
	}
}

// awaitedActivation returns what NetworkManager is doing without which the uplink cannot be
// determined or attached to br-ex, or "". A br-ex of an earlier join comes first: until it has the
// default route again, another interface would be chosen as uplink.
func awaitedActivation(facts Facts, options Options) string {
	if _, attached := BridgedUplink(facts); attached {
		return ""
	}
	if _, exists := facts.bridge(); exists && facts.isActivating(BridgeName) {
		return "NetworkManager to activate " + BridgeName
	}
	choice, err := chooseUplink(facts, options)
	switch {
	case err == nil && facts.isActivating(choice.name):
		return "NetworkManager to activate " + choice.name
	case err != nil && choice.name == "" && !facts.BridgeHintEmpty && facts.isAnyActivating():
		return "a default route"
	}
	return ""
}

// awaitedLease returns the address that the uplink still waits for, or "". NetworkManager reports a profile as
// activated as soon as one family has an address: a router usually responds before a DHCP server, and RHEL 10 first
// checks whether another host has an IPv4 address. The node would be configured with the other family alone, or
// another interface than that of the IPv4 default route would be the uplink.
func awaitedLease(facts Facts, options Options) string {
	if _, attached := BridgedUplink(facts); attached {
		return ""
	}
	choice, err := chooseUplink(facts, options)
	if err != nil {
		return ""
	}
	for _, family := range networkmanager.Families() {
		if awaited := facts.awaitedAddress(choice.name, family); awaited != "" {
			return awaited
		}
	}
	if choice.source != defaultRouteSource(6) || facts.NodeIPv6First {
		return ""
	}
	for _, device := range facts.Devices {
		if link, exists := facts.Link(device.Name); exists && canBeUplink(link) {
			if awaited := facts.awaitedAddress(device.Name, networkmanager.IPv4); awaited != "" {
				return awaited
			}
		}
	}
	return ""
}

// awaitedAddress returns the address of a family that an interface still waits for, or "". A profile with "auto" does
// not state that there is a router: its IPv6 address is only awaited for a cluster with IPv6. Static addresses beside
// those of a DHCP server do not end the wait for it.
func (f Facts) awaitedAddress(name string, family networkmanager.Family) string {
	device, _ := f.Device(name)
	profile, _ := f.Profile(device.Active.UUID)
	link, _ := f.Link(name)
	method := profile.Settings.Method(family)
	isDHCP := family == networkmanager.IPv4 && method == "auto"
	has := slices.ContainsFunc(link.Stable(), func(prefix netip.Prefix) bool {
		isBeside := isDHCP && slices.Contains(profile.Settings.Addresses(family), prefix)
		return networkmanager.FamilyOf(prefix.Addr()) == family && !isBeside
	})
	switch {
	case !nmprofile.HasAddresses(profile.Settings, family) || has:
		return ""
	case method == "manual":
		return fmt.Sprintf("the %s address in the profile of %s", family, name)
	case isDHCP:
		return "a DHCP server to assign an IPv4 address to " + name
	case method == "dhcp" || f.NodeIPv6:
		return "a router or a DHCP server to assign an IPv6 address to " + name
	}
	return ""
}

// isActivating reports whether NetworkManager is activating an interface, or may still begin to do
// so because it is starting. A rollback without a DHCP server keeps the address, and the interface
// remains in activation until a server responds (see Driver.holdAddress in package migrate). This
// can last forever and does not count.
func (f Facts) isActivating(name string) bool {
	device, _ := f.Device(name)
	if f.NetworkManager.Starting {
		return device.Active.State != networkmanager.Activated
	}
	profile, _ := f.Profile(device.Active.UUID)
	isHeld := nmprofile.IsDynamic(profile.Settings, networkmanager.IPv4) && len(device.IPv4.Addresses) > 0 &&
		len(device.IPv4.LeasedAddresses()) == 0
	return device.Active.State == networkmanager.Activating && !isHeld
}

// isAnyActivating reports whether NetworkManager is starting or activating any interface that could
// get the default route.
func (f Facts) isAnyActivating() bool {
	return f.NetworkManager.Starting || slices.ContainsFunc(f.Devices, func(device networkmanager.Device) bool {
		link, exists := f.Link(device.Name)
		return exists && (device.Name == BridgeName || canBeUplink(link)) && f.isActivating(device.Name)
	})
}
