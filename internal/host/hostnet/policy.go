// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// PolicyRule is a routing policy rule, as listed by `ip rule`.
type PolicyRule struct {
	Family      int // 4 or 6
	Priority    int
	Mark        uint32 // 0: any
	Source      netip.Prefix
	Destination netip.Prefix
	Table       int
}

// LinkAddress is an address of any kind on an interface.
type LinkAddress struct {
	Link    string
	Label   string
	Address netip.Prefix
}

// PolicyRules returns the routing policy rules of both families.
func PolicyRules() ([]PolicyRule, error) {
	var rules []PolicyRule
	for _, family := range families {
		found, err := dump(func() ([]netlink.Rule, error) { return netlink.RuleList(family.netlink) })
		if err != nil {
			return nil, fmt.Errorf("listing routing rules: %w", err)
		}
		for _, rule := range found {
			rules = append(rules, PolicyRule{
				Family: family.number, Priority: rule.Priority, Mark: rule.Mark, Table: rule.Table,
				Source: optionalPrefix(rule.Src), Destination: optionalPrefix(rule.Dst),
			})
		}
	}
	return rules, nil
}

// LinkAddresses returns all addresses of all interfaces, including link-local
// ones.
func LinkAddresses() ([]LinkAddress, error) {
	names, err := linkNames()
	if err != nil {
		return nil, err
	}
	found, err := dump(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("listing addresses: %w", err)
	}
	addresses := make([]LinkAddress, 0, len(found))
	for _, address := range found {
		addresses = append(addresses, LinkAddress{
			Link: names[address.LinkIndex], Label: address.Label, Address: optionalPrefix(address.IPNet),
		})
	}
	return addresses, nil
}

func linkNames() (map[int]string, error) {
	links, err := dump(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	names := map[int]string{}
	for _, link := range links {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	return names, nil
}
