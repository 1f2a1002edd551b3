// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// stateScript prints the objects that OVN-Kubernetes creates on a host. It omits /etc/ovn and
// /run/ovn, the mount points of the test's own pods, as well as fe80:: addresses and empty
// iptables tables, which the kernel creates.
const stateScript = `
export LC_ALL=C
ip -br link | awk '{ print "link", $1 }' | sort
ip -o address show scope global | awk '{ print "address", $2, $4 }' | sort
for family in -4 -6; do
  ip $family route show table all | grep -v 'table local\|proto kernel\|fe80::\|unreachable\|multicast' |
    sed "s/^/route $family /; s/ *$//" | sort
  ip $family rule | sed "s/^/rule $family /"
done
for command in iptables-save ip6tables-save; do
  for table in raw mangle nat filter; do
    $command -t $table 2>/dev/null | grep '^-A\|^:' | grep -v '^:[A-Z]* ACCEPT' |
      sed "s/ \[[0-9:]*\]//; s/^/$command $table /"
  done
done
nft list tables | grep -v 'table ip6\? \(raw\|mangle\|nat\|filter\)$'
sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding
find /etc/cni /etc/kubernetes /etc/ovn /etc/openvswitch/ovn* /var/lib/cni /var/lib/ovn* /var/lib/openvswitch/ovn* \
  /var/log/ovn* /run/ovn /run/ovn-* /run/multus /run/ofport* -not -path /etc/ovn -not -path /run/ovn 2>/dev/null |
  sed 's/^/file /' | sort
pgrep -la 'ovn' | sed 's/^[0-9]* /process /'
true
`

// vswitchScript prints the settings that Open vSwitch restores when it starts.
const vswitchScript = `
systemctl start openvswitch
ovs-vsctl --timeout=30 list-br
ovs-vsctl --timeout=30 --bare get Open_vSwitch . external_ids | tr ',' '\n' | grep ovn
ip -br link | awk '{ print $1 }' | grep 'ovn\|br-int\|genev'
systemctl stop openvswitch ovs-vswitchd ovsdb-server
true
`

func networkState(ctx context.Context, t *testing.T) []string {
	t.Helper()
	return strings.Split(mustOutput(ctx, t, stateScript), "\n")
}

// checkNetworkRestored checks that the host's network is as before the join, and remains so after a
// restart of Open vSwitch with its database.
func checkNetworkRestored(ctx context.Context, t *testing.T, before []string) {
	t.Helper()
	now := networkState(ctx, t)
	for _, line := range now {
		if !slices.Contains(before, line) {
			t.Errorf("leave left: %s", line)
		}
	}
	for _, line := range before {
		if !slices.Contains(now, line) {
			t.Errorf("leave did not restore: %s", line)
		}
	}
	if left := mustOutput(ctx, t, vswitchScript); left != "" {
		t.Errorf("Open vSwitch has after leave:\n%s", left)
	}
}
