package ovs

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

const addrGenEUI64 = int32(0)

// identity is what makes routers and DHCP servers give br-ex the addresses
// that the NIC has.
type identity struct {
	// The half of an autoconfigured IPv6 address that names the host.
	// NetworkManager hashes the interface's name into it (stable-privacy), so
	// it would be another one on br-ex; it is therefore pinned as a token.
	token string // "" for nothing to pin, or when the MAC gives the same
	eui64 bool

	// beside are autoconfigured addresses that no one token can give.
	beside []netip.Prefix

	// What was really sent: a profile can say "stable", "duid" or "lease", and
	// the default identity association is made from the interface's name.
	clientID, duid, iaid string
}

// apply makes br-ex ask as the NIC did.
func (i identity) apply(s networkmanager.Settings) {
	if i.clientID != "" {
		s.Set("ipv4", "dhcp-client-id", i.clientID)
	}
	if i.duid != "" {
		s.Set("ipv6", "dhcp-duid", i.duid)
	}
	if i.iaid != "" {
		s.Set("ipv6", "dhcp-iaid", i.iaid)
	}
	if i.eui64 {
		// A token needs addresses made the EUI-64 way; only the link-local
		// address changes.
		s.Set("ipv6", "addr-gen-mode", addrGenEUI64)
		if i.token != "" {
			s.Set("ipv6", "token", i.token)
		}
	}
	if len(i.beside) > 0 {
		s.SetIP(networkmanager.IPv6, networkmanager.IP{Addresses: append(s.Addresses(networkmanager.IPv6), i.beside...)})
	}
}

// identify finds the identity of a NIC. An address that is neither the
// profile's, nor a DHCP server's, nor autoconfigured is another program's, and
// would be lost: refused.
func identify(link host.Link, device networkmanager.Device, original networkmanager.Settings) (identity, error) {
	var i identity
	if id := device.IPv4.DHCP["dhcp_client_identifier"]; isHex(id) {
		i.clientID = id
	}
	if id := device.IPv6.DHCP["dhcp6_client_id"]; isHex(id) {
		i.duid = id
	}
	if number, err := strconv.ParseUint(strings.ReplaceAll(device.IPv6.DHCP["iaid"], ":", ""), 16, 32); err == nil {
		i.iaid = strconv.FormatUint(number, 10)
	}
	var found []byte
	for _, prefix := range unexplained(link, device, original) {
		auto := prefix.Addr().Is6() && prefix.Bits() == 64 && original.Method(networkmanager.IPv6) == "auto"
		half := interfaceID(prefix.Addr())
		switch {
		case auto && (found == nil || slices.Equal(found, half)):
			found = half
		case auto && !slices.Contains(link.Permanent, prefix.Addr()):
			i.beside = append(i.beside, prefix)
		case prefix.Addr().Is4() && IsDynamic(original, networkmanager.IPv4) && len(device.IPv4.LeasedAddresses()) == 0:
			return i, waiting(link.Name)
		default:
			return i, Refuse(fmt.Sprintf("nmcli connection modify uuid %s +%s.addresses %s # or: ip address delete %s dev %s",
				original.Text("connection", "uuid"), networkmanager.FamilyOf(prefix.Addr()).Section(), prefix, prefix, link.Name),
				"another program has given the uplink %s the address %s, which its NetworkManager profile does not know, so it would be lost; put it into the profile, or remove it", link.Name, prefix)
		}
	}
	if found == nil {
		return i, nil
	}
	i.eui64 = true
	if !slices.Equal(found, eui64(link.MAC)) {
		token := append(make([]byte, 8), found...)
		i.token = netip.AddrFrom16([16]byte(token)).String()
	}
	return i, nil
}

// unexplained lists the lasting addresses that are neither in the profile nor
// from a DHCP server.
func unexplained(link host.Link, device networkmanager.Device, original networkmanager.Settings) []netip.Prefix {
	var explained []netip.Addr
	for _, family := range networkmanager.Families() {
		for _, prefix := range original.Addresses(family) {
			explained = append(explained, prefix.Addr())
		}
		explained = append(explained, device.IP(family).LeasedAddresses()...)
	}
	var rest []netip.Prefix
	for _, prefix := range link.Lasting() {
		if !slices.Contains(explained, prefix.Addr()) {
			rest = append(rest, prefix)
		}
	}
	return rest
}

// isHex tells an identifier in bytes, 01:52:54:00:12:34:56, from a text.
func isHex(id string) bool {
	return strings.Contains(id, ":") && strings.Trim(strings.ToLower(id), "0123456789abcdef:") == ""
}

// interfaceID is the half of an IPv6 address that names the host.
func interfaceID(address netip.Addr) []byte {
	bytes := address.As16()
	return bytes[8:]
}

// eui64 is the interface identifier that follows from a MAC (RFC 4291,
// appendix A).
func eui64(mac string) []byte {
	m, err := net.ParseMAC(mac)
	if err != nil || len(m) != 6 {
		return nil
	}
	return []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}
}
