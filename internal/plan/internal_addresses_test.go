// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"slices"
	"testing"
)

func TestInternalAddresses(t *testing.T) {
	const script = "#!/usr/bin/env bash\nset -x\nip addr add %s brd %s scope host dev lo\n" +
		"ip route add %s dev lo scope link src %s\n"
	for name, test := range map[string]struct {
		content string
		found   bool
		want    string
	}{
		"HyperShift's": {
			"#!/usr/bin/env bash\nset -x\nip addr add 172.20.0.1/32 brd 172.20.0.1 scope host dev lo\n" +
				"ip route add 172.20.0.1/32 dev lo scope link src 172.20.0.1\n", true, "172.20.0.1",
		},
		"IPv6": {"ip -6 addr add fd00::1/128 scope host dev lo\n", true, "fd00::1"},
		"IPv6 default, which the script gives a prefix of IPv4": {
			"ip addr add fd00::1/32 brd fd00::1 scope host dev lo\nip route add fd00::1/32 dev lo scope link src fd00::1\n",
			true, "fd00::1",
		},
		"without a prefix": {"ip address add 172.20.0.1 dev lo\n", true, "172.20.0.1"},
		"a network":        {"ip route add 10.0.0.0/8 dev eth0\n", true, ""},
		"no address":       {script, true, ""},
		"not there":        {"ip addr add 172.20.0.1/32 dev lo\n", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			queried := ""
			got := internalAddresses(func(p string) ([]byte, uint32, bool) {
				queried = p
				return []byte(test.content), 0o755, test.found
			})
			var want []netip.Addr
			if test.want != "" {
				want = []netip.Addr{netip.MustParseAddr(test.want)}
			}
			if !slices.Equal(got, want) || queried != "/usr/local/bin/setup-apiserver-ip.sh" {
				t.Errorf("%v from %s, want %v", got, queried, want)
			}
		})
	}
}
