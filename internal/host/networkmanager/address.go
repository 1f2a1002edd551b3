// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"encoding/binary"
	"net/netip"

	"github.com/godbus/dbus/v5"
)

// Method returns how a family of a profile gets its addresses: auto, dhcp,
// manual, link-local, disabled, ignore, shared.
func (s Settings) Method(family Family) string { return s.Text(family.Section(), "method") }

// SetIP sets static addresses, gateway and name servers of a family of a
// profile, and adds routes to the existing ones. Settings that now lacks remain
// unchanged. A route without a metric uses the profile's.
func (s Settings) SetIP(family Family, now IP) {
	section := family.Section()
	addresses := []map[string]dbus.Variant{}
	for _, prefix := range now.Addresses {
		addresses = append(addresses, prefixData("address", prefix))
	}
	s.Set(section, "address-data", addresses)
	if now.Gateway.IsValid() {
		s.Set(section, "gateway", now.Gateway.String())
	}
	if len(now.Routes) > 0 {
		routes := append([]map[string]dbus.Variant{}, s.List(section, "route-data")...)
		for _, route := range now.Routes {
			routes = append(routes, route.data())
		}
		s.Set(section, "route-data", routes)
	}
	s.setNameservers(family, now.Nameservers)
}

func (s Settings) setNameservers(family Family, servers []netip.Addr) {
	section := family.Section()
	var numbers []uint32
	var bytes [][]byte
	for _, server := range servers {
		if FamilyOf(server) != family {
			continue
		}
		if family == IPv6 {
			bytes = append(bytes, server.AsSlice())
			continue
		}
		// NetworkManager expects the bytes in network order as a native integer.
		numbers = append(numbers, binary.NativeEndian.Uint32(server.AsSlice()))
	}
	switch {
	case len(numbers) > 0:
		s.Set(section, "dns", numbers)
	case len(bytes) > 0:
		s.Set(section, "dns", bytes)
	default:
		return
	}
	// dns is the form that all versions support. It wins over dns-data anyway (see
	// withoutLegacy), which would contain different servers.
	s.Drop(section, "dns-data")
}

// data returns the route in the form of a profile.
func (r Route) data() map[string]dbus.Variant {
	data := prefixData("dest", r.Destination)
	if r.Gateway.IsValid() {
		data["next-hop"] = dbus.MakeVariant(r.Gateway.String())
	}
	if r.Metric > 0 {
		data["metric"] = dbus.MakeVariant(r.Metric)
	}
	if r.Table > 0 {
		data["table"] = dbus.MakeVariant(r.Table)
	}
	return data
}

// Addresses returns the static addresses of a profile.
func (s Settings) Addresses(family Family) []netip.Prefix {
	return prefixesOf(s.List(family.Section(), "address-data"))
}

// Routes returns the static routes of a profile.
func (s Settings) Routes(family Family) []Route {
	return routesOf(s.List(family.Section(), "route-data"))
}

func prefixesOf(list []map[string]dbus.Variant) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, data := range list {
		if prefix, ok := prefixOf(data, "address"); ok {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

func routesOf(list []map[string]dbus.Variant) []Route {
	var routes []Route
	for _, data := range list {
		prefix, ok := prefixOf(data, "dest")
		if !ok {
			continue
		}
		gateway, _ := netip.ParseAddr(value[string](data, "next-hop"))
		routes = append(routes, Route{
			Destination: prefix,
			Gateway:     gateway,
			Metric:      value[uint32](data, "metric"),
			Table:       value[uint32](data, "table"),
		})
	}
	return routes
}

func prefixData(name string, prefix netip.Prefix) map[string]dbus.Variant {
	return map[string]dbus.Variant{
		name:     dbus.MakeVariant(prefix.Addr().String()),
		"prefix": dbus.MakeVariant(uint32(prefix.Bits())), //nolint:gosec // 0 to 128
	}
}
