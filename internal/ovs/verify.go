package ovs

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// verify checks that br-ex carries the host as the NIC did: the addresses that
// peers know, the default route, an answer of the gateway, name servers, and
// an answer of whoever was named to Prepare.
func (d *Driver) verify(ctx context.Context, m Move) error {
	err := d.waitUntil(ctx, BridgeName, func(facts Facts) string { return lacks(facts, m, BridgeName) })
	if err != nil {
		return err
	}
	if err := askGateway(ctx, BridgeName, m.Gateway); err != nil {
		return err
	}
	return d.reachable(ctx, d.reach)
}

// verifyBack checks that the NIC carries the host again. After a long time the
// DHCP server may have another address for it.
func (d *Driver) verifyBack(ctx context.Context, o Origin) error {
	var route host.Route
	err := d.waitUntil(ctx, o.Uplink, func(facts Facts) string {
		link, _ := facts.link(o.Uplink)
		found, ok := routeOf(facts.Routes, 4, o.Uplink)
		if !ok || len(link.Addresses) == 0 {
			return "it has no address or no default route"
		}
		route = found
		return ""
	})
	if err != nil {
		return err
	}
	return askGateway(ctx, o.Uplink, route.Gateway)
}

// waitUntil looks until nothing is missing on link.
func (d *Driver) waitUntil(ctx context.Context, link string, missing func(Facts) string) error {
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	last := ""
	err := poll(limited, "addresses and default route", func() (bool, error) {
		facts, err := d.lookAddresses(ctx)
		if err == nil {
			last = missing(facts)
		}
		return last == "", err
	})
	if err != nil && last != "" {
		return fmt.Errorf("%s is not as it should be: %s", link, last)
	}
	return err
}

func askGateway(ctx context.Context, link string, gateway netip.Addr) error {
	if !gateway.IsValid() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := host.AskNeighbour(ctx, link, gateway); err != nil {
		return fmt.Errorf("asking the gateway: %w", err)
	}
	return nil
}

func (d *Driver) lookAddresses(ctx context.Context) (Facts, error) {
	var facts Facts
	var err error
	if facts.Links, err = host.Links(); err != nil {
		return facts, err
	}
	if facts.Routes, err = host.DefaultRoutes(); err != nil {
		return facts, err
	}
	facts.Devices, err = d.NM.Devices(ctx)
	return facts, err
}

// lacks tells what is missing for link to carry the host as m says, "" for
// nothing.
func lacks(facts Facts, m Move, link string) string {
	found, ok := facts.link(link)
	if !ok {
		return "there is no such interface"
	}
	for _, address := range m.Stable {
		if !slices.ContainsFunc(found.Addresses, func(p netip.Prefix) bool { return p.Addr() == address }) {
			return fmt.Sprintf("the address %s is not there (it has %s)", address, join(found.Addresses))
		}
	}
	if m.Gateway.IsValid() {
		route, ok := bestRoute(facts.Routes, 4)
		if !ok || route.Link != link || route.Gateway != m.Gateway {
			return fmt.Sprintf("the default route is not via %s over it", m.Gateway)
		}
	}
	device, _ := facts.device(link)
	for _, server := range m.Nameservers {
		if !slices.Contains(device.IPv4.Nameservers, server) {
			return fmt.Sprintf("the name server %s is not known any more", server)
		}
	}
	return ""
}

func join[T fmt.Stringer](items []T) string {
	if len(items) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, item.String())
	}
	return strings.Join(texts, ", ")
}

// poll asks again and again until it is so.
func poll(ctx context.Context, what string, so func() (bool, error)) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := so()
		if ctx.Err() == nil && (err != nil || ok) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}
