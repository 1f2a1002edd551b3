// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/godbus/dbus/v5"
)

// Family is an address family, 4 or 6.
type Family int

// The two families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Families returns both families, IPv4 first, because most hosts depend on it.
func Families() []Family { return []Family{IPv4, IPv6} }

// FamilyOf returns the family of an address.
func FamilyOf(address netip.Addr) Family {
	if address.Is4() {
		return IPv4
	}
	return IPv6
}

// Section returns the name of the family's section in a profile.
func (f Family) Section() string { return fmt.Sprintf("ipv%d", f) }

func (f Family) String() string { return fmt.Sprintf("IPv%d", int(f)) }

// IP is a device's configuration of one family, from its profile, DHCP, router
// advertisements or another program.
type IP struct {
	Addresses     []netip.Prefix    `json:"addresses,omitempty"`
	Gateway       netip.Addr        `json:"gateway"`
	Routes        []Route           `json:"routes,omitempty"` // including default routes
	Nameservers   []netip.Addr      `json:"nameservers,omitempty"`
	SearchDomains []string          `json:"searchDomains,omitempty"`
	DHCP          map[string]string `json:"dhcp,omitempty"` // the identity sent, the server, and the addresses
}

// Route is a route of a device. Without Gateway the destination is on link.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Gateway     netip.Addr   `json:"gateway"`
	Metric      uint32       `json:"metric,omitempty"`
	Table       uint32       `json:"table,omitempty"` // 0: main
}

// leaseOptions lists the DHCP options that are kept: those that do not change at a
// renewal. "iaid" is NetworkManager's own.
var leaseOptions = []string{
	"dhcp_client_identifier", "dhcp_server_identifier", "ip_address",
	"dhcp6_client_id", "dhcp6_server_id", "ip6_address", "iaid",
}

// LeasedAddresses returns the addresses that a DHCP server has assigned.
func (ip IP) LeasedAddresses() []netip.Addr {
	var leased []netip.Addr
	for _, name := range []string{"ip_address", "ip6_address"} {
		for _, text := range strings.FieldsFunc(ip.DHCP[name], func(r rune) bool { return r == ' ' || r == ',' }) {
			if address, err := netip.ParseAddr(text); err == nil {
				leased = append(leased, address)
			}
		}
	}
	return leased
}

// ip returns the configuration of a family of a device.
func (c *Client) ip(ctx context.Context, device map[string]dbus.Variant, family Family) (IP, error) {
	var found IP
	config := value[dbus.ObjectPath](device, fmt.Sprintf("Ip%dConfig", family))
	properties, err := c.optionalProperties(ctx, config, fmt.Sprintf("IP%dConfig", family))
	if err != nil {
		return found, err
	}
	found.Addresses = prefixesOf(value[[]map[string]dbus.Variant](properties, "AddressData"))
	found.Gateway, _ = netip.ParseAddr(value[string](properties, "Gateway"))
	found.Routes = routesOf(value[[]map[string]dbus.Variant](properties, "RouteData"))
	found.Nameservers = nameservers(properties)
	found.SearchDomains = append(value[[]string](properties, "Domains"), value[[]string](properties, "Searches")...)
	lease := value[dbus.ObjectPath](device, fmt.Sprintf("Dhcp%dConfig", family))
	properties, err = c.optionalProperties(ctx, lease, fmt.Sprintf("DHCP%dConfig", family))
	if err != nil {
		return found, err
	}
	options := value[map[string]dbus.Variant](properties, "Options")
	found.DHCP = map[string]string{}
	for _, name := range leaseOptions {
		if text := value[string](options, name); text != "" {
			found.DHCP[name] = text
		}
	}
	return found, nil
}

// nameservers returns the name servers, which have a different form in each
// family.
func nameservers(properties map[string]dbus.Variant) []netip.Addr {
	var servers []netip.Addr
	for _, data := range value[[]map[string]dbus.Variant](properties, "NameserverData") {
		if server, err := netip.ParseAddr(value[string](data, "address")); err == nil {
			servers = append(servers, server)
		}
	}
	for _, bytes := range value[[][]byte](properties, "Nameservers") { // IPv6; numbers for IPv4
		if server, ok := netip.AddrFromSlice(bytes); ok {
			servers = append(servers, server)
		}
	}
	return servers
}

// optionalProperties returns the properties of an object, or nil if it does not exist.
func (c *Client) optionalProperties(
	ctx context.Context, path dbus.ObjectPath, name string,
) (map[string]dbus.Variant, error) {
	if path == "" || path == root {
		return nil, nil
	}
	properties, err := c.properties(ctx, path, name)
	if isGone(err) {
		return nil, nil
	}
	return properties, err
}

func prefixOf(data map[string]dbus.Variant, name string) (netip.Prefix, bool) {
	address, err := netip.ParseAddr(value[string](data, name))
	return netip.PrefixFrom(address, int(value[uint32](data, "prefix"))), err == nil
}
