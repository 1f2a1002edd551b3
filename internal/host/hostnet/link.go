// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Link is a network interface and its addresses.
type Link struct {
	Name       string         `json:"name"`
	AltNames   []string       `json:"altNames,omitempty"` // other names of the interface (ip-link(8), altname)
	Index      int            `json:"index"`
	Kind       string         `json:"kind"` // device, vlan, bond, bridge, openvswitch, wlan, ...
	MAC        string         `json:"mac"`
	MTU        int            `json:"mtu"`
	Master     int            `json:"master,omitempty"`     // index of the bridge or bond that it is a port of
	Parent     int            `json:"parent,omitempty"`     // index of the interface below a VLAN or a macvlan
	Addresses  []netip.Prefix `json:"addresses"`            // global unicast only
	Transient  []netip.Addr   `json:"transient,omitempty"`  // temporary (RFC 8981), deprecated, or an EgressIP
	Permanent  []netip.Addr   `json:"permanent,omitempty"`  // IPv6: those that never expire, such as static ones
	Advertised []netip.Prefix `json:"advertised,omitempty"` // on-link subnets in router advertisements

	// WithPrefixRoute lists the IPv6 addresses for which the kernel adds a route to the subnet.
	// NetworkManager suppresses that route (IFA_F_NOPREFIXROUTE).
	WithPrefixRoute []netip.Addr `json:"withPrefixRoute,omitempty"`

	PermanentMAC string `json:"permanentMAC,omitempty"` // the hardware's own MAC, regardless of MAC
	InheritsMAC  bool   `json:"inheritsMAC,omitempty"`  // a bond with fail_over_mac: its MAC is that of the active port
}

func inheritsMAC(l netlink.Link) bool {
	bond, ok := l.(*netlink.Bond)
	return ok && bond.Mode == netlink.BOND_MODE_ACTIVE_BACKUP &&
		(bond.FailOverMac == netlink.BOND_FAIL_OVER_MAC_ACTIVE || bond.FailOverMac == netlink.BOND_FAIL_OVER_MAC_FOLLOW)
}

// Stable returns the addresses that peers can use permanently.
func (l Link) Stable() []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(l.Addresses), func(prefix netip.Prefix) bool {
		return slices.Contains(l.Transient, prefix.Addr())
	})
}

// HasMAC reports whether the link has a MAC, now or as that of the hardware.
func (l Link) HasMAC(mac string) bool {
	return mac != "" && (strings.EqualFold(mac, l.MAC) || strings.EqualFold(mac, l.PermanentMAC))
}

// SharesParent reports whether the link receives the frames of its parent directly. The parent cannot be in a bridge
// then: an interface has one handler of received frames (netdev_rx_handler_register in the kernel).
func (l Link) SharesParent() bool {
	return slices.Contains([]string{"macvlan", "macvtap", "ipvlan"}, l.Kind)
}

// Links returns the network interfaces.
func Links() ([]Link, error) {
	found, err := dump(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	advertised, err := advertisedSubnets()
	if err != nil {
		return nil, err
	}
	links := make([]Link, 0, len(found))
	for _, l := range found {
		attrs := l.Attrs()
		addresses, err := dump(func() ([]netlink.Addr, error) { return netlink.AddrList(l, netlink.FAMILY_ALL) })
		if err != nil {
			return nil, fmt.Errorf("listing addresses of %s: %w", attrs.Name, err)
		}
		link := Link{
			Name:         attrs.Name,
			AltNames:     attrs.AltNames,
			Index:        attrs.Index,
			Kind:         l.Type(),
			MAC:          attrs.HardwareAddr.String(),
			MTU:          attrs.MTU,
			Master:       attrs.MasterIndex,
			Advertised:   advertised[attrs.Index],
			PermanentMAC: attrs.PermHWAddr.String(),
			InheritsMAC:  inheritsMAC(l),
		}
		if l.Type() == "vlan" || link.SharesParent() && attrs.NetNsID < 0 { // else the parent is in another namespace
			link.Parent = attrs.ParentIndex
		}
		for _, address := range addresses {
			prefix := prefixOf(address.IPNet)
			switch ip := prefix.Addr(); {
			case !ip.IsGlobalUnicast():
				continue
			case ip.Is6():
				link.addFlags(ip, address.Flags)
			case strings.Contains(address.Label, egressLabel):
				link.Transient = append(link.Transient, ip)
			}
			link.Addresses = append(link.Addresses, prefix)
		}
		links = append(links, link)
	}
	return links, nil
}

// advertisedSubnets returns the subnets in router advertisements by link. They
// are the only source of the subnet of a DHCPv6 address, which is a /128.
func advertisedSubnets() (map[int][]netip.Prefix, error) {
	routes, err := dump(func() ([]netlink.Route, error) {
		filter := &netlink.Route{Protocol: unix.RTPROT_RA}
		return netlink.RouteListFiltered(netlink.FAMILY_V6, filter, netlink.RT_FILTER_PROTOCOL)
	})
	if err != nil {
		return nil, fmt.Errorf("listing advertised routes: %w", err)
	}
	subnets := map[int][]netip.Prefix{}
	for _, route := range routes {
		if route.Dst == nil || route.Gw != nil {
			continue
		}
		if prefix := prefixOf(route.Dst); prefix.Bits() > 0 {
			subnets[route.LinkIndex] = append(subnets[route.LinkIndex], prefix)
		}
	}
	return subnets, nil
}

// Subnet returns the subnet of an address of the link.
func (l Link) Subnet(address netip.Prefix) netip.Prefix {
	if address.IsSingleIP() {
		for _, subnet := range l.Advertised {
			if subnet.Contains(address.Addr()) {
				return subnet
			}
		}
	}
	return address.Masked()
}

// egressLabel is part of the label of an egress address of pods
// (OVN-Kubernetes' EgressIP). Such an address can move to another node, and
// nodeip-configuration ignores it too (baremetal-runtimecfg,
// pkg/utils/addresses_linux.go).
const egressLabel = "eip"

func (l *Link) addFlags(ip netip.Addr, flags int) {
	if flags&(unix.IFA_F_TEMPORARY|unix.IFA_F_DEPRECATED|unix.IFA_F_DADFAILED) != 0 {
		l.Transient = append(l.Transient, ip)
	}
	if flags&unix.IFA_F_PERMANENT != 0 {
		l.Permanent = append(l.Permanent, ip)
	}
	if flags&unix.IFA_F_NOPREFIXROUTE == 0 {
		l.WithPrefixRoute = append(l.WithPrefixRoute, ip)
	}
}

// LinkByPermanentMAC returns the only link with the permanent MAC, or false if there is
// none or more than one.
func LinkByPermanentMAC(links []Link, mac string) (Link, bool) {
	found := slices.DeleteFunc(slices.Clone(links), func(l Link) bool { return !strings.EqualFold(l.PermanentMAC, mac) })
	if len(found) != 1 {
		return Link{}, false
	}
	return found[0], true
}

// DeleteLink deletes a network interface.
func DeleteLink(name string) error {
	link, err := linkByName(name)
	if err != nil {
		return err
	}
	return wrap.Errorf(netlink.LinkDel(link), "deleting network interface %s", name)
}
