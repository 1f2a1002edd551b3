// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/netip"
	"strings"
)

// JoinAddresses returns a list of addresses for a sentence.
func JoinAddresses(list []netip.Addr) string {
	texts := make([]string, 0, len(list))
	for _, address := range list {
		texts = append(texts, address.String())
	}
	if len(texts) == 0 {
		return "no address"
	}
	return strings.Join(texts, " and ")
}
