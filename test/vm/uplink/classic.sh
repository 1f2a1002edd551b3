#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# classic.sh NIC: br-ex around an Ethernet interface in the order in which
# OpenShift's own configure-ovs.sh brings it about, to be measured beside the
# agent's: five profiles, then br-ex with its ports and the NIC, then the
# interface, which requests the address again. Written from a description of that
# order; it has no safeguards, and is only for machines of a test.
set -euo pipefail
nic=${1:?usage: classic.sh NIC}
old=$(nmcli -g GENERAL.CON-UUID device show "$nic")
mac=$(cat "/sys/class/net/$nic/address")
mtu=$(cat "/sys/class/net/$nic/mtu")
get() { nmcli -g "$1" connection show "$old"; }
add() { nmcli connection add save no connection.autoconnect no "$@" >/dev/null; }
uuid() { nmcli -g connection.uuid connection show "$1"; }

add type ovs-bridge conn.interface br-ex con-name br-ex 802-3-ethernet.mtu "$mtu" connection.autoconnect-slaves 1
add type ovs-port conn.interface "$nic" master br-ex con-name ovs-port-phys0 connection.autoconnect-slaves 1
add type ovs-port conn.interface br-ex master br-ex con-name ovs-port-br-ex
add type 802-3-ethernet conn.interface "$nic" master "$(uuid ovs-port-phys0)" slave-type ovs-port con-name ovs-if-phys0 \
  connection.autoconnect-priority 100 connection.autoconnect-slaves 1 802-3-ethernet.mtu "$mtu" 802-3-ethernet.cloned-mac-address "$mac"

# Static addresses are copied; otherwise a new profile requests addresses by DHCP.
ip=(ipv4.method "$(get ipv4.method)" ipv4.route-metric 48 ipv6.method "$(get ipv6.method)" ipv6.route-metric 48)
for family in ipv4 ipv6; do
  [ "$(get $family.method)" = manual ] || continue
  ip+=("$family.addresses" "$(get $family.addresses)" "$family.gateway" "$(get $family.gateway)" "$family.dns" "$(get $family.dns)")
done
add type ovs-interface conn.interface br-ex master "$(uuid ovs-port-br-ex)" slave-type ovs-port con-name ovs-if-br-ex \
  802-3-ethernet.mtu "$mtu" 802-3-ethernet.cloned-mac-address "$mac" "${ip[@]}"

for profile in br-ex ovs-if-phys0 ovs-if-br-ex; do
  for _ in $(seq 10); do
    [ "$(nmcli -g GENERAL.STATE connection show "$profile")" = activated ] && continue 2
    nmcli connection up "$profile" >/dev/null && continue 2
    sleep 5
  done
  echo "$profile does not come up" >&2
  exit 1
done
