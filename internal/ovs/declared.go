// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/nmstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Declared is a file of the host or the payload that declares br-ex by NMState.
type Declared struct {
	File    string
	Content string
}

// refuse returns the refusal of a declared br-ex that differs from what the agent builds: the host keeps the addressing
// that it has.
func (d *Declared) refuse(format string, args ...any) error {
	return report.Fail(report.Refused, report.Remedyf("# make the file and the host agree, or show the br-ex that the "+
		"agent would create without the file:\nhcp-node-agent plan --payload-drop %s", d.File),
		"%s declares br-ex by NMState: %w", d.File, fmt.Errorf(format, args...))
}

// bridge returns the declared br-ex with this uplink. It refuses a file with what the agent does not build, and another
// port. A nil d declares nothing.
func (d *Declared) bridge(facts Facts, uplink string) (*nmstate.Bridge, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // none is declared
	}
	b, err := nmstate.Parse([]byte(d.Content))
	if err != nil {
		return nil, d.refuse("%w", err)
	}
	if port, ok := facts.namedLink(b.Port); !ok || port.Name != uplink {
		return nil, report.Fail(report.Refused,
			report.Remedyf("hcp-node-agent join --bridge-interface %s", report.ShellWord(b.Port)),
			"%s declares br-ex with the port %s, but the uplink is %s", d.File, b.Port, uplink)
	}
	return b, nil
}

// match returns the declared br-ex, nil if none is declared. It fails if a br-ex with this uplink would differ from it:
// the addressing of br-ex is that of the uplink.
func (d *Declared) match(facts Facts, uplink string) (*nmstate.Bridge, error) {
	b, err := d.bridge(facts, uplink)
	if err != nil || b == nil {
		return nil, err
	}
	link, _ := facts.Link(uplink)
	for _, differs := range []func(*nmstate.Bridge, Facts, hostnet.Link) string{
		differsInPort, differsInAddresses, differsInRoutes,
	} {
		if difference := differs(b, facts, link); difference != "" {
			return nil, d.refuse("%s", difference)
		}
	}
	return b, nil
}

// CheckDeclared refuses a declared br-ex that Plan would refuse. It needs no Open vSwitch, and reports no other reason
// to refuse the migration.
func CheckDeclared(facts Facts, options Options) error {
	choice, err := chooseUplink(facts, options)
	if err != nil {
		return nil //nolint:nilerr // Plan reports it
	}
	_, err = options.Declared.match(facts, choice.name)
	return err
}

// differsInPort describes how the uplink differs from the declared port, "" if it does not.
func differsInPort(b *nmstate.Bridge, facts Facts, link hostnet.Link) string {
	kinds := map[string]string{"ethernet": "device", "bond": "bond", "vlan": "vlan"}
	switch {
	case b.PortType != "" && link.Kind != kinds[b.PortType]:
		return fmt.Sprintf("%s has the type %s, but it is a %s", link.Name, b.PortType, link.Kind)
	case b.MTU != 0 && link.MTU != b.MTU:
		return fmt.Sprintf("the MTU of br-ex is %d, but that of %s is %d", b.MTU, link.Name, link.MTU)
	}
	if b.VLAN != nil {
		parent, _ := find(facts.Links, func(l hostnet.Link) bool { return l.Index == link.Parent })
		id := fmt.Sprint(facts.profileOf(link)["vlan"]["id"].Value())
		if parent.Name != b.VLAN.Parent || id != fmt.Sprint(b.VLAN.ID) {
			return fmt.Sprintf("%s is VLAN %d of %s, but the host has VLAN %s of %s", link.Name, b.VLAN.ID, b.VLAN.Parent, id,
				parent.Name)
		}
	}
	if b.Bond != nil {
		return differsInBond(b.Bond, facts)
	}
	return ""
}

// profileOf returns the settings of the active profile of an interface.
func (f Facts) profileOf(link hostnet.Link) networkmanager.Settings {
	device, _ := f.Device(link.Name)
	profile, _ := f.Profile(device.Active.UUID)
	return profile.Settings
}

func differsInBond(declared *nmstate.Bond, facts Facts) string {
	bond, _ := facts.Link(declared.Name)
	var members []string
	for _, member := range facts.Links {
		if member.Master == bond.Index {
			members = append(members, member.Name)
		}
	}
	if !hasSame(members, declared.Ports) {
		return fmt.Sprintf("bond %s has the ports %s, but the host's has %s", declared.Name,
			strings.Join(declared.Ports, ", "), strings.Join(members, ", "))
	}
	options, _ := facts.profileOf(bond)["bond"]["options"].Value().(map[string]string)
	wanted := map[string]string{"mode": declared.Mode}
	for key, value := range declared.Options {
		wanted[key] = fmt.Sprint(value)
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[key] != "" && options[key] != wanted[key] {
			return fmt.Sprintf("bond %s has %s %s, but the host's has %q", declared.Name, key, wanted[key], options[key])
		}
	}
	return ""
}

// differsInAddresses describes how the addressing of the uplink differs from the one that is declared for br-ex, "" if
// it does not.
func differsInAddresses(b *nmstate.Bridge, facts Facts, link hostnet.Link) string {
	device, _ := facts.Device(link.Name)
	settings, now := facts.profileOf(link), IPStateOf(facts, link, device)
	for _, family := range networkmanager.Families() {
		declared := b.IPv4
		if family == networkmanager.IPv6 {
			declared = b.IPv6
		}
		addresses := slices.DeleteFunc(slices.Clone(now[family].Addresses), func(prefix netip.Prefix) bool {
			return prefix.Addr().IsLinkLocalUnicast() || openvswitch.IsMasquerade(prefix)
		})
		method := settings.Method(family)
		isAutomatic := method == "auto" || method == "dhcp"
		switch {
		case declared.Automatic && !isAutomatic:
			return fmt.Sprintf("br-ex gets IPv%d addresses automatically, but %s has the method %q", family, link.Name, method)
		case declared.Automatic:
		case len(declared.Addresses) > 0 && isAutomatic:
			return fmt.Sprintf("br-ex has static IPv%d addresses, but %s has the method %q", family, link.Name, method)
		case !hasSame(addresses, declared.Addresses):
			return fmt.Sprintf("br-ex has the IPv%d addresses %s, but %s has %s", family, nodeip.Format(declared.Addresses),
				link.Name, nodeip.Format(addresses))
		}
	}
	return ""
}

// differsInRoutes names a declared route or name server that the uplink does not have, "" if it has all.
func differsInRoutes(b *nmstate.Bridge, facts Facts, link hostnet.Link) string {
	for _, route := range b.Routes {
		if !slices.ContainsFunc(facts.TableRoutes, func(r hostnet.TableRoute) bool {
			return r.Link == link.Name && r.Gateway == route.Gateway &&
				(r.Destination == route.Destination || r.Destination.Bits() <= 0 && route.Destination.Bits() == 0)
		}) {
			return fmt.Sprintf("br-ex has a route to %s by %s, but %s has none", route.Destination, route.Gateway, link.Name)
		}
	}
	state := AddressStateOf(facts, link.Name)
	for _, server := range b.DNS.Servers {
		if !slices.Contains(append(state.Nameservers, facts.Resolver.Nameservers...), server) {
			return fmt.Sprintf("the host has the name server %s, which it does not have now", server)
		}
	}
	for _, domain := range b.DNS.Search {
		if !slices.Contains(append(state.SearchDomains, facts.Resolver.Search...), domain) {
			return fmt.Sprintf("the host has the search domain %s, which it does not have now", domain)
		}
	}
	return ""
}

// hasSame reports whether two lists have the same elements, in any order.
func hasSame[T comparable](a, b []T) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one T) bool { return !slices.Contains(b, one) })
}
