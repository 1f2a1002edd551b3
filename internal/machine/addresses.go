// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"net/netip"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

// Addresses returns the addresses under which peers can reach this host.
func Addresses() ([]netip.Addr, error) {
	links, err := hostnet.Links()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, link := range links {
		if link.Name == "lo" {
			continue // contains the API server's internal address, on every node
		}
		for _, prefix := range link.Addresses {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses, nil
}
