package networkmanager

import (
	"encoding/binary"
	"net/netip"

	"github.com/godbus/dbus/v5"
)

// SetIPv4 sets addresses, gateway, routes with a gateway, and name servers of
// a profile by hand, as they are on a device now.
func (s Settings) SetIPv4(now IPv4) {
	addresses := []map[string]dbus.Variant{}
	for _, prefix := range now.Addresses {
		addresses = append(addresses, prefixData("address", prefix))
	}
	s.Set("ipv4", "address-data", addresses)
	if now.Gateway.IsValid() {
		s.Set("ipv4", "gateway", now.Gateway.String())
	}
	var routes []map[string]dbus.Variant
	for _, route := range now.Routes {
		if !route.Gateway.IsValid() {
			continue // of the subnet itself; follows from the address
		}
		data := prefixData("dest", route.Destination)
		data["next-hop"] = dbus.MakeVariant(route.Gateway.String())
		routes = append(routes, data)
	}
	if len(routes) > 0 {
		s.Set("ipv4", "route-data", routes)
	}
	var servers []uint32
	for _, server := range now.Nameservers {
		if server.Is4() {
			// Bytes in network order, read as a number of this machine.
			bytes := server.As4()
			servers = append(servers, binary.NativeEndian.Uint32(bytes[:]))
		}
	}
	if len(servers) > 0 {
		s.Drop("ipv4", "dns-data") // the newer form of dns would win
		s.Set("ipv4", "dns", servers)
	}
}

func prefixData(name string, prefix netip.Prefix) map[string]dbus.Variant {
	return map[string]dbus.Variant{
		name:     dbus.MakeVariant(prefix.Addr().String()),
		"prefix": dbus.MakeVariant(uint32(prefix.Bits())), //nolint:gosec // 0 to 128
	}
}
