// SPDX-License-Identifier: Apache-2.0

package vm

import "testing"

func TestUplinkAddress(t *testing.T) {
	const (
		ctl0   = `{"ifname":"ctl0","addr_info":[{"local":"198.51.100.15"}]}`
		eth0   = `{"ifname":"eth0","addr_info":[{"local":"192.0.2.104"}]}`
		brEx   = `{"ifname":"br-ex","addr_info":[{"local":"192.0.2.105"},{"local":"192.0.2.106"}]}`
		noBrEx = `{"ifname":"br-ex","addr_info":[]}`
	)
	for listing, want := range map[string]string{
		"[" + ctl0 + "," + eth0 + "]":                "192.0.2.104",
		"[" + ctl0 + "," + eth0 + "," + brEx + "]":   "192.0.2.105",
		"[" + ctl0 + "," + noBrEx + "," + eth0 + "]": "192.0.2.104",
		"[{}," + ctl0 + "]":                          "", // ip prints {} for interfaces that it omits
		"not json":                                   "",
	} {
		got, err := uplinkAddress([]byte(listing))
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%s: got %v, %v; want %q", listing, got, err, want)
		}
	}
}
