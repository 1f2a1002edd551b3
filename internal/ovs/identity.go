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

const addrGenEUI64 = int32(0)

// identity contains the settings with which routers and DHCP servers assign
// br-ex the same addresses as the NIC.
type identity struct {
	// token is the interface identifier of the autoconfigured IPv6 addresses, "" if
	// there is nothing to pin or the MAC yields the same. NetworkManager derives it
	// from the interface's name (stable-privacy), so it would differ on br-ex. It
	// is therefore pinned as a token.
	token string
	eui64 bool

	// extraAddresses lists autoconfigured addresses that a single token cannot produce.
	extraAddresses []netip.Prefix

	// The values that were really sent: a profile can contain "stable", "duid" or
	// "lease", and the default identity association is derived from the interface's
	// name.
	clientID, duid, iaid string
}

// apply makes br-ex send the same identity as the NIC.
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
		// A token requires addresses in EUI-64 mode. Only the link-local address
		// changes.
		s.Set("ipv6", "addr-gen-mode", addrGenEUI64)
		if i.token != "" {
			s.Set("ipv6", "token", i.token)
		}
	}
	if len(i.extraAddresses) > 0 {
		addresses := append(s.Addresses(networkmanager.IPv6), i.extraAddresses...)
		s.SetIP(networkmanager.IPv6, networkmanager.IP{Addresses: addresses})
	}
}

// identify returns the identity of a NIC. It refuses an address that is neither
// in the profile, nor from a DHCP server, nor autoconfigured: another program
// has added it, and the migration would lose it.
func identify(link hostnet.Link, device networkmanager.Device, original networkmanager.Settings) (identity, error) {
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
	for _, prefix := range unattributedAddresses(link, device, original) {
		auto := prefix.Addr().Is6() && prefix.Bits() == 64 && original.Method(networkmanager.IPv6) == "auto"
		address := prefix.Addr().As16()
		half := address[8:] // the interface identifier (RFC 4291, 2.5.1)
		switch {
		case auto && (found == nil || slices.Equal(found, half)):
			found = half
		case auto && !slices.Contains(link.Permanent, prefix.Addr()):
			i.extraAddresses = append(i.extraAddresses, prefix)
		case prefix.Addr().Is4() && nmprofile.IsDynamic(original, networkmanager.IPv4) &&
			len(device.IPv4.LeasedAddresses()) == 0:
			return i, refuseUnconfirmedAddresses(link.Name)
		default:
			return i, Refuse(report.Remedyf("nmcli connection modify uuid %s +%s.addresses %s # or: ip address delete %s dev %s",
				original.Text("connection", "uuid"), networkmanager.FamilyOf(prefix.Addr()).Section(), prefix, prefix, link.Name),
				"the address %s of the uplink %s is not in its NetworkManager profile and would be lost; add it to the "+
					"profile, or remove it", prefix, link.Name)
		}
	}
	if found == nil {
		return i, nil
	}
	i.eui64 = true
	if !slices.Equal(found, eui64FromMAC(link.MAC)) {
		token := append(make([]byte, 8), found...)
		i.token = netip.AddrFrom16([16]byte(token)).String()
	}
	return i, nil
}

// unattributedAddresses returns the non-temporary addresses that are neither in the
// profile nor from a DHCP server.
func unattributedAddresses(
	link hostnet.Link, device networkmanager.Device, original networkmanager.Settings,
) []netip.Prefix {
	var explained []netip.Addr
	for _, family := range networkmanager.Families() {
		for _, prefix := range original.Addresses(family) {
			explained = append(explained, prefix.Addr())
		}
		explained = append(explained, device.IP(family).LeasedAddresses()...)
	}
	return slices.DeleteFunc(link.Stable(), func(prefix netip.Prefix) bool {
		return slices.Contains(explained, prefix.Addr())
	})
}

// isHex reports whether an identifier is in hexadecimal bytes,
// 01:52:54:00:12:34:56, and not text.
func isHex(id string) bool {
	return strings.Contains(id, ":") && strings.Trim(strings.ToLower(id), "0123456789abcdef:") == ""
}

// eui64FromMAC returns the interface identifier derived from a MAC (RFC 4291, appendix
// A).
func eui64FromMAC(mac string) []byte {
	m := parseMAC(mac)
	if m == nil {
		return nil
	}
	return []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}
}
