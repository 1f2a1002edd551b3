// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddressKeeper keeps addresses and a default route on a link while another program
// reconfigures the link: it adds them again as soon as they are removed.
type AddressKeeper struct {
	link      int
	addresses []netip.Prefix
	route     *netlink.Route // nil: none
	done      chan struct{}
	finished  sync.WaitGroup
}

// keptAddressSeconds is the lifetime of a held address that no program takes over, and
// of the held route if this process is killed.
const keptAddressSeconds = 600

// StartAddressKeeper keeps addresses, the existing link-local addresses of the link and,
// if gateway is valid, a default route. It adds those that are missing. They
// are this host's own addresses, so duplicate address detection is skipped,
// which would make them unusable for a second or two.
func StartAddressKeeper(name string, addresses []netip.Prefix, gateway netip.Addr, metric int) (*AddressKeeper, error) {
	link, err := linkByName(name)
	if err != nil {
		return nil, err
	}
	present, err := dump(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_V6) })
	if err != nil {
		return nil, fmt.Errorf("listing addresses of %s: %w", name, err)
	}
	k := &AddressKeeper{link: link.Attrs().Index, addresses: slices.Clone(addresses), done: make(chan struct{})}
	for _, address := range present {
		if prefix := prefixOf(address.IPNet); prefix.Addr().IsLinkLocalUnicast() && address.Flags&unix.IFA_F_TENTATIVE == 0 {
			k.addresses = append(k.addresses, prefix)
		}
	}
	if gateway.IsValid() {
		k.route = &netlink.Route{LinkIndex: k.link, Gw: gateway.AsSlice(), Priority: metric, Protocol: unix.RTPROT_STATIC}
	}
	addressChanges, routeChanges := make(chan netlink.AddrUpdate, 64), make(chan netlink.RouteUpdate, 64)
	if err := netlink.AddrSubscribe(addressChanges, k.done); err != nil {
		return nil, fmt.Errorf("monitoring the addresses of %s: %w", name, err)
	}
	if err := netlink.RouteSubscribe(routeChanges, k.done); err != nil {
		close(k.done)
		return nil, fmt.Errorf("monitoring the routes of %s: %w", name, err)
	}
	k.ensure()
	k.finished.Go(func() { k.keep(addressChanges, routeChanges) })
	return k, nil
}

// Stop stops keeping the addresses. It removes the held route, and the subnet
// routes that the kernel has added for the held addresses. An address that no
// program has taken over expires.
func (k *AddressKeeper) Stop() error {
	close(k.done)
	k.finished.Wait()
	var routes []*netlink.Route
	if k.route != nil {
		routes = append(routes, k.route)
	}
	for _, prefix := range k.addresses {
		routes = append(routes, &netlink.Route{
			LinkIndex: k.link, Dst: ipNet(prefix.Masked()), Priority: kernelMetric, Protocol: unix.RTPROT_KERNEL,
		})
	}
	for _, route := range routes {
		if err := netlink.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("removing the route %s: %w", route, err)
		}
	}
	return nil
}

// kernelMetric is the metric of the kernel's own IPv6 routes
// (IP6_RT_PRIO_ADDRCONF).
const kernelMetric = 256

func (k *AddressKeeper) keep(addresses <-chan netlink.AddrUpdate, routes <-chan netlink.RouteUpdate) {
	for {
		select {
		case <-k.done:
			return
		case _, open := <-addresses:
			if !open {
				return
			}
		case _, open := <-routes:
			if !open {
				return
			}
		}
		k.ensure() // after any change, also an addition: IPv6 may have been disabled before
	}
}

// ensure adds the missing addresses and route. Errors are ignored: the next
// change is another attempt, and the caller verifies the connectivity.
func (k *AddressKeeper) ensure() {
	link := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: k.link}}
	for _, prefix := range k.addresses {
		_ = netlink.AddrAdd(link, &netlink.Addr{
			IPNet:       ipNet(prefix),
			Flags:       unix.IFA_F_NODAD,
			ValidLft:    keptAddressSeconds,
			PreferedLft: keptAddressSeconds,
		})
	}
	if k.route != nil {
		gateway, _ := netip.AddrFromSlice(k.route.Gw)
		_ = addExpiringRoute(k.link, gateway, k.route.Priority, keptAddressSeconds)
	}
}
