// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"context"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// stateScript prints the state that the migration into br-ex must preserve. U is the interface
// with the uplink's addresses; it is printed as UPLINK. The script omits the control channel,
// metrics except 50, how a route was learned, lifetimes, and link-local addresses. br-ex has
// better metrics of its own; 50 is the metric of the kinds' own routes and must be preserved.
// Link-local addresses can depend on the interface's name.
const stateScript = `
export LC_ALL=C
U=$1; ip -o address show dev br-ex scope global 2>/dev/null | grep -q . && U=br-ex
ip -o address show scope global | grep -vw ctl0 |
  sed -E "s/^[0-9]+: $U +/UPLINK /; s/^[0-9]+: //; s/ valid_lft.*//; s/ (dynamic|noprefixroute|mngtmpaddr|secondary)//g
    s/\\\\//; s/ ($U|brd [0-9.]+)//g; s/ +/ /g; s/ $//; s/^/address /" | sort
for f in -4 -6; do
  ip $f route show table all |
    grep -vE 'dev (ctl0|lo) |^(local|broadcast|multicast|anycast|fe80::/64|ff00::/8) |^fe80' |
    sed -E "s/dev $U( |$)/dev UPLINK\\1/; s/ metric 50( |$)/ metric=50\\1/
      s/ (proto|metric|expires|pref|hoplimit|scope) [^ ]+//g; s/ (linkdown|onlink)//g; s/ +/ /g; s/ $//; s/^/route $f /"
  ip $f rule | sed "s/^/rule $f /"
done | sort
echo "leaves by $(ip -4 route get 192.0.0.1 2>/dev/null | sed -nE "s/.* dev ([^ ]+) .*/\1/p" | sed "s/^$U\$/UPLINK/")" \
  "and $(ip -6 route get 2001:db8:ffff::1 2>/dev/null | sed -nE "s/.* dev ([^ ]+) .*/\1/p" | sed "s/^$U\$/UPLINK/")"
grep -E '^(nameserver|search|options)' /etc/resolv.conf | sed "s/%$U\$/%UPLINK/"
profile=$(nmcli -g GENERAL.CON-UUID device show $U | grep -m1 .)
zone=$(nmcli -g connection.zone connection show "$profile" 2>/dev/null)
echo "MTU $(cat /sys/class/net/$U/mtu) MAC $(cat /sys/class/net/$U/address) zone $zone"
for d in eth0 eth1 bond0; do
  [ -e /sys/class/net/$d ] || continue
  # The kernel switches this off for whatever forwards.
  ethtool -k $d | grep -v 'fixed\|:$\|large-receive-offload' | sed "s/^/$d /"
  [ -e /proc/net/bonding/$d ] &&
    grep -E '^(Bonding Mode|MII Status|Slave Interface|Transmit Hash|LACP)' /proc/net/bonding/$d | sort | sed "s/^/$d /"
done
for d in /sys/class/net/*.[0-9]*; do [ -e "$d" ] && echo "exists ${d##*/}"; done; true
`

// State returns the state of a machine's network as lines, which must be the same before and
// after a migration into br-ex.
func (k Kind) State(ctx context.Context, m *vm.Machine) ([]string, error) {
	out, err := m.Output(ctx, "set -- "+k.Uplink+stateScript)
	return strings.Split(out, "\n"), err
}

// fullStateScript prints the state that a migration changes and leave restores, under its own names:
// addresses, routes with their metrics, profiles, files, bridges.
const fullStateScript = `
export LC_ALL=C
ip -o address show scope global | sed -E 's/ valid_lft.*//; s/^[0-9]+: //; s/\\//; s/ +/ /g; s/^/address /' | sort
for f in -4 -6; do
  ip $f route show table all | grep -vE 'dev (ctl0|lo) |^(multicast|anycast|ff00::/8) |^fe80|^local fe80' |
    sed -E "s/ expires [^ ]+//; s/ +$//; s/^/route $f /"
  ip $f rule | sed "s/^/rule $f /"
done | sort
# With fail_over_mac a bond has the MAC of the member that is active.
ip -br link | awk '{print "link", $1, $3}' | grep -v ovs-system | sort |
  if grep -qs '^\(active\|follow\)' /sys/class/net/bond0/bonding/fail_over_mac; then
    active=$(cat /sys/class/net/bond0/bonding/active_slave)
    sed "s/^link bond0 $(cat /sys/class/net/$active/address)$/link bond0 of its active member/"
  else cat; fi
# NetworkManager makes up profiles for lo, and for a second card without one,
# again at every start.
for uuid in $(nmcli -g UUID,TYPE connection show | grep -v ':loopback$' | cut -d: -f1 | sort); do
  settings=$(nmcli connection show "$uuid" | grep '^[a-z]' | grep -v timestamp | sed -E "s/ +/ /; s/^/setting $uuid /")
  echo "$settings" | grep -q 'connection.interface-name: eth1' &&
    echo "$settings" | grep -q 'connection.id: Wired connection' && continue
  echo "$settings"
done
nmcli -t -f NAME,DEVICE,STATE connection show --active | grep -v ':lo:' | sed 's/^/active /' | sort
find /etc /usr/lib/systemd/system /run/NetworkManager/system-connections /run/nodeip-configuration -xdev \
  \( -path /etc/openvswitch -o -path /etc/.pwd.lock -o -path '/etc/*-' -o -path /etc/resolv.conf \) -prune -o -type f -print 2>/dev/null | grep -v "hcp-node-agent\|/lo.nmconnection" | sort | xargs sha256sum | sed 's/^/file /'
# NetworkManager never takes the rank of the best from an interface that had it
# for a moment, so an interface that comes back is not first again.
grep -E '^(nameserver|search|options)' /etc/resolv.conf |
  if [ "$(ip -4 route show default | wc -l)" -gt 1 ]; then sort; else cat; fi
ovs-vsctl --timeout=5 list-br 2>/dev/null | sed 's/^/bridge /'
ovs-vsctl --timeout=5 --columns=name,external_ids list Interface 2>/dev/null
systemctl list-timers --all --no-legend --no-pager | grep hcp-node-agent
true
`

// FullState returns the state of a machine's network as lines, which must be the same before a
// migration and after its rollback.
func (k Kind) FullState(ctx context.Context, m *vm.Machine) ([]string, error) {
	out, err := m.Output(ctx, fullStateScript)
	return strings.Split(out, "\n"), err
}

// Addresses returns the addresses at which the peer can reach the uplink, one of each family.
func (k Kind) Addresses(ctx context.Context, m *vm.Machine) ([]netip.Addr, error) {
	out, err := m.Output(ctx, `
		U=`+k.Uplink+`; ip -o address show dev br-ex scope global 2>/dev/null | grep -q . && U=br-ex
		for f in -4 -6; do ip $f -o address show dev $U scope global | awk '{print $4}' | cut -d/ -f1 | head -1; done`)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, word := range strings.Fields(out) {
		address, err := netip.ParseAddr(word)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
