// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("setting lo up: %w", err)
	}
	return nil
}

// AddBridge creates a bridge with addresses and sets it up. It also gets the link-local address of a router. Its MAC
// address is fixed: by default a bridge uses the lowest MAC address of its ports, so the machines' gateway would change
// with every tap. The addresses can be used at once, without a detection of duplicates.
func (n *Namespace) AddBridge(name string, addresses []netip.Prefix) error {
	return n.Do(func() error {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{
			Name:         name,
			HardwareAddr: net.HardwareAddr{0x02, 0, 0, 0, 0, 0x01},
		}}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("adding bridge %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(bridge); err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
		for _, address := range append([]netip.Prefix{netip.MustParsePrefix("fe80::1/64")}, addresses...) {
			addr := &netlink.Addr{IPNet: &net.IPNet{
				IP: address.Addr().AsSlice(), Mask: net.CIDRMask(address.Bits(), address.Addr().BitLen()),
			}}
			if address.Addr().Is6() {
				addr.Flags = unix.IFA_F_NODAD
			}
			if err := netlink.AddrAdd(bridge, addr); err != nil {
				return fmt.Errorf("adding %s to %s: %w", address, name, err)
			}
		}
		return nil
	})
}
