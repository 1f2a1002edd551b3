// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// JoinAddresses returns a list of addresses for a sentence.
func JoinAddresses(list []netip.Addr) string {
	return cmp.Or(strings.Join(lists.Map(list, netip.Addr.String), " and "), "no address")
}
