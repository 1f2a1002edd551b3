// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
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

// AddBridge creates a bridge with one IPv4 address ("192.0.2.1/24") and sets it up. Its MAC
// address is fixed: by default a bridge uses the lowest MAC address of its ports, so the
// machines' gateway would change with every tap.
func (n *Namespace) AddBridge(name, address string) error {
	return n.Do(func() error {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{
			Name:         name,
			HardwareAddr: net.HardwareAddr{0x02, 0, 0, 0, 0, 0x01},
		}}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("adding bridge %s: %w", name, err)
		}
		addr, err := netlink.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("parsing bridge address %q: %w", address, err)
		}
		if err := netlink.AddrAdd(bridge, addr); err != nil {
			return fmt.Errorf("adding %s to %s: %w", address, name, err)
		}
		if err := netlink.LinkSetUp(bridge); err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
		return nil
	})
}
