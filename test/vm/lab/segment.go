// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
)

// Segment is a network of the lab: a VLAN of the switch with a router and a peer.
type Segment struct {
	// VLAN is the VLAN ID, or 0 for untagged frames.
	VLAN int
	// Gateway4 and Gateway6 are the router's addresses. The router is also the DNS and DHCP
	// server, and has fe80::1.
	Gateway4, Gateway6 netip.Prefix
	// Peer4 and Peer6 are the addresses of the peer.
	Peer4, Peer6 netip.Addr
}

// Segments returns all segments. The addresses are reserved for documentation and benchmarks (RFC
// 5737, 3849, 2544). 198.51.100.0/24 is left for the control channel.
func Segments() []Segment {
	return []Segment{
		segment(0, "192.0.2", "2001:db8:1:"),
		segment(100, "203.0.113", "2001:db8:100:"),
		segment(200, "198.18.200", "2001:db8:200:"),
	}
}

func segment(vlan int, net4, net6 string) Segment {
	return Segment{
		VLAN:     vlan,
		Gateway4: netip.MustParsePrefix(net4 + ".1/24"), Gateway6: netip.MustParsePrefix(net6 + ":1/64"),
		Peer4: netip.MustParseAddr(net4 + ".2"), Peer6: netip.MustParseAddr(net6 + ":2"),
	}
}

// link returns the name of a segment's interface in the router and the peer.
func (s Segment) link() string { return "lan" + strconv.Itoa(s.VLAN) }

// socket returns the name of the switch port for a host of the lab.
func (s Segment) socket(host string) string { return host + strconv.Itoa(s.VLAN) }

// attach connects a host of the lab to a segment.
func (l *Lab) attach(ctx context.Context, s Segment, n namespace, host string, addresses ...netip.Addr) error {
	socket, link := s.socket(host), s.link()
	last := 1
	if host == "peer" {
		last = 2
	}
	mac := fmt.Sprintf("02:00:00:00:%02x:%02x", s.VLAN, last)
	for _, args := range [][]string{
		{"link", "add", socket, "type", "veth", "peer", "name", link, "address", mac, "netns", n.path},
		{"link", "set", socket, "mtu", "9000", "up"},
	} {
		if err := l.fabric.ip(ctx, args...); err != nil {
			return err
		}
	}
	// With checksum offload, no component would fill in the missing checksums.
	if err := n.run(ctx, "ethtool", "-K", link, "tx", "off"); err != nil {
		return err
	}
	// Linux removes a default route if the advertising router does not set the router flag in its
	// neighbor advertisements, which it sets only while forwarding is enabled.
	if err := n.sysctl(ctx, "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"); err != nil {
		return err
	}
	if err := n.ip(ctx, "link", "set", link, "up"); err != nil {
		return err
	}
	if host == "gw" {
		addresses = append(addresses, netip.MustParseAddr("fe80::1"))
	}
	for _, address := range addresses {
		args := []string{"address", "add", address.String() + "/24", "dev", link}
		if address.Is6() {
			args = []string{"address", "add", address.String() + "/64", "dev", link, "nodad"}
		}
		if err := n.ip(ctx, args...); err != nil {
			return err
		}
	}
	args := []string{"add-port", bridge, socket}
	if s.VLAN != 0 {
		args = append(args, "tag="+strconv.Itoa(s.VLAN))
	}
	return l.fabric.vsctl(ctx, args...)
}
