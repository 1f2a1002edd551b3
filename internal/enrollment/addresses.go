// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// ParseAddress parses an address or a CIDR of an enrollment. An address is the prefix of its full length.
func ParseAddress(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("%q is not an IP address or a CIDR", text)
		}
		return netip.PrefixFrom(address, address.BitLen()), CheckAddress(address)
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil, prefix.Addr().Is4In6():
		return prefix, fmt.Errorf("%q is not an IP address or a CIDR", text)
	case prefix != prefix.Masked():
		return prefix, fmt.Errorf("%q is not a network: its address has bits behind the prefix; use %s",
			text, prefix.Masked())
	case prefix.Bits() == 0:
		return prefix, fmt.Errorf("%q contains all addresses", text)
	}
	return prefix, nil
}

func parseAddresses(texts []string) ([]netip.Prefix, error) {
	var parsed []netip.Prefix
	return parsed, checkList("addresses", texts, func(text string) error {
		prefix, err := ParseAddress(text)
		parsed = append(parsed, prefix)
		return err
	})
}

// SinglePrefixes returns the prefix of full length of each address.
func SinglePrefixes(addresses []netip.Addr) []netip.Prefix {
	return lists.Map(addresses, func(address netip.Addr) netip.Prefix {
		return netip.PrefixFrom(address, address.BitLen())
	})
}

// FormatAddresses returns the texts of the addresses and CIDRs of an enrollment.
func FormatAddresses(prefixes []netip.Prefix) []string {
	return lists.Map(prefixes, func(prefix netip.Prefix) string {
		if prefix.IsSingleIP() {
			return prefix.Addr().String()
		}
		return prefix.String()
	})
}
