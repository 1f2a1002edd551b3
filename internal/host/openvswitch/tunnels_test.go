// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"fmt"
	"testing"
)

func TestParseTunnels(t *testing.T) {
	// Output of ovs-vsctl 3.1 for tunnels as ovn-controller creates them, one with another encapsulation address.
	const output = `{"data":[[["map",[["csum","true"],["key","flow"],["remote_ip","192.0.2.8"]]]],
[["map",[["csum","true"],["key","flow"],["local_ip","192.0.2.9"],["remote_ip","192.0.2.8"]]]],
[["map",[["key","flow"],["remote_ip","flow"]]]],
[["map",[["csum","true"],["key","flow"],["remote_ip","2001:db8::8"]]]],
[["map",[["csum","true"],["key","flow"],["remote_ip","192.0.2.7"]]]]],"headings":["options"]}`
	got, err := parseTunnels(output)
	if want := "[192.0.2.7 192.0.2.8 2001:db8::8]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if got, err := parseTunnels(`{"data":[],"headings":["options"]}`); err != nil || len(got) != 0 {
		t.Errorf("without tunnels: %v, %v", got, err)
	}
	if _, err := parseTunnels("ovs-vsctl: no such table"); err == nil {
		t.Error("an error message is parsed as a table")
	}
}
