// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// ProbeNeighbour makes the kernel probe ip on a link (ARP, or neighbour
// discovery) and waits for the response. An earlier response does not count.
func ProbeNeighbour(ctx context.Context, link string, ip netip.Addr) error {
	index, err := linkIndex(link)
	if err != nil {
		return err
	}
	if err := startProbe(index, link, ip); err != nil {
		return fmt.Errorf("probing %s on %s: %w", ip, link, err)
	}
	for {
		entry, err := neighbour(index, ip)
		switch {
		case err != nil:
			return err
		case entry == nil:
			return fmt.Errorf("no neighbor entry exists on %s for %s", link, ip)
		case entry.State&netlink.NUD_REACHABLE != 0:
			return nil
		case entry.State&netlink.NUD_FAILED != 0:
			return fmt.Errorf("%s does not respond on %s", ip, link)
		}
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%s has not responded on %s: %w", ip, link, err)
		}
	}
}

// startProbe makes the kernel probe an existing entry, or create one by sending
// a packet.
func startProbe(index int, link string, ip netip.Addr) error {
	entry, err := neighbour(index, ip)
	if err != nil {
		return err
	}
	if entry != nil && len(entry.HardwareAddr) > 0 {
		entry.State = netlink.NUD_PROBE
		return netlink.NeighSet(entry)
	}
	if ip.Is6() && ip.IsLinkLocalUnicast() {
		ip = ip.WithZone(link)
	}
	const discard = 9
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, discard)))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(nil)
	return err
}

// CopyNeighbour copies the neighbour entry of ip from one link to another, so
// that the first packet there does not wait for a response. It does nothing if
// there is no entry.
func CopyNeighbour(ip netip.Addr, from, to string) error {
	source, err := linkIndex(from)
	if err != nil {
		return err
	}
	target, err := linkIndex(to)
	if err != nil {
		return err
	}
	entry, err := neighbour(source, ip)
	if err != nil || entry == nil || len(entry.HardwareAddr) == 0 {
		return err
	}
	copied := netlink.Neigh{
		LinkIndex:    target,
		Family:       entry.Family,
		State:        netlink.NUD_REACHABLE,
		IP:           entry.IP,
		HardwareAddr: entry.HardwareAddr,
	}
	return wrap.Errorf(netlink.NeighSet(&copied), "announcing %s on %s", ip, to)
}

func neighbour(link int, ip netip.Addr) (*netlink.Neigh, error) {
	family := netlink.FAMILY_V4
	if ip.Is6() {
		family = netlink.FAMILY_V6
	}
	entries, err := dump(func() ([]netlink.Neigh, error) { return netlink.NeighList(link, family) })
	if err != nil {
		return nil, fmt.Errorf("listing neighbors: %w", err)
	}
	for _, entry := range entries {
		if found, ok := netip.AddrFromSlice(entry.IP); ok && found.Unmap() == ip {
			return &entry, nil
		}
	}
	return nil, nil
}

func linkIndex(name string) (int, error) {
	link, err := linkByName(name)
	if err != nil {
		return 0, err
	}
	return link.Attrs().Index, nil
}

func linkByName(name string) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	return link, wrap.Errorf(err, "finding network interface %s", name)
}
