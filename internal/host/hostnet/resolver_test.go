// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseResolver(t *testing.T) {
	content := "# nameserver 192.0.2.9\ndomain lab\nsearch lab.example corp.example .\nnameserver 192.0.2.1\n" +
		"nameserver fe80::1%eth0\nnameserver 127.0.0.53\nnameserver x\nnameserver\noptions edns0\n"
	want := Resolver{
		Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80::1%eth0")},
		Search:      []string{"lab.example", "corp.example"},
	}
	if diff := cmp.Diff(want, parseResolver(content), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
