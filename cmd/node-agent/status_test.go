// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

func TestPrintNodeIP(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	for want, recorded := range map[string]service.NodeIPResult{
		"no join yet; nothing was changed\n": {Note: "no join yet"},
		"the node address is 192.0.2.7 and 2001:db8::7 (unchanged)\n": {
			Addresses: []netip.Addr{one, two},
			Before:    []netip.Addr{one, two},
		},
		"the node address changed to 192.0.2.7 from no address; if kubelet and CRI-O are already running: " +
			"systemctl restart crio kubelet\n": {Addresses: []netip.Addr{one}, Changed: true},
	} {
		var out bytes.Buffer
		if printNodeIP(&out, recorded); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
