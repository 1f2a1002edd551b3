package ovs

import (
	"net"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

const addrGenEUI64 = int32(0)

// ipv6Identity is the half of an autoconfigured IPv6 address that names the
// host. NetworkManager hashes the interface's name into it (stable-privacy),
// so it would be another one on br-ex; it is therefore pinned as a token.
type ipv6Identity struct {
	token string // "" for nothing to pin, or when the MAC gives the same
	eui64 bool
}

// pin makes br-ex get the same address from each router's prefix. A token
// needs addresses made the EUI-64 way; only the link-local address changes.
func (i ipv6Identity) pin(s networkmanager.Settings) {
	if !i.eui64 {
		return
	}
	s.Set("ipv6", "addr-gen-mode", addrGenEUI64)
	if i.token != "" {
		s.Set("ipv6", "token", i.token)
	}
}

// keepIPv6 finds the identity of the link's lasting IPv6 addresses. More than
// one, or one that is not half a /64, cannot be pinned: refused.
func keepIPv6(link host.Link) (ipv6Identity, error) {
	var identity ipv6Identity
	var found []byte
	for _, prefix := range link.Lasting() {
		if !prefix.Addr().Is6() {
			continue
		}
		bytes := prefix.Addr().As16()
		if prefix.Bits() != 64 || (found != nil && !slices.Equal(found, bytes[8:])) {
			return identity, refuse("ip -6 address show dev "+link.Name,
				"the IPv6 address %s of the uplink %s cannot be carried over to br-ex by this version (only one autoconfigured address, a /64, can); make br-ex yourself and run this again", prefix, link.Name)
		}
		found = bytes[8:]
	}
	if found == nil {
		return identity, nil
	}
	identity.eui64 = true
	if !slices.Equal(found, eui64(link.MAC)) {
		token := append(make([]byte, 8), found...)
		identity.token = netip.AddrFrom16([16]byte(token)).String()
	}
	return identity, nil
}

// eui64 is the identity that follows from a MAC (RFC 4291, appendix A).
func eui64(mac string) []byte {
	m, err := net.ParseMAC(mac)
	if err != nil || len(m) != 6 {
		return nil
	}
	return []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}
}
