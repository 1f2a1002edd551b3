#!/bin/bash
# Stands in for configure-ovs.sh of machine-config-operator, with the result that others rely on: the interface of the
# node's address is a port of the Open vSwitch bridge br-ex, whose internal interface has the address. The profiles
# have the names of the original, and exist until the next boot. Bonds, VLANs, static addresses, a second bridge and
# the rollback of a failure are not supported.
set -euxo pipefail
ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=" "
if [ -e /etc/nmstate/openshift/applied ]; then exit 0; fi
touch /run/ovs-config-executed
if nmcli connection show --active ovs-if-br-ex >/dev/null 2>&1; then exit 0; fi

# The bridge of the last boot is in the database of Open vSwitch.
ovs-vsctl --timeout=30 --if-exists del-br br-ex
address=$(</run/nodeip-configuration/primary-ip)
uplink=$(ip -json address show | jq -er --arg a "$address" 'first(.[] | select(any(.addr_info[]; .local == $a))).ifname')
mac=$(<"/sys/class/net/$uplink/address")
mtu=$(<"/sys/class/net/$uplink/mtu")
add() { nmcli connection add save no connection.autoconnect no con-name "$@"; }
add br-ex type ovs-bridge conn.interface br-ex 802-3-ethernet.mtu "$mtu" connection.autoconnect-slaves 1
add ovs-port-phys0 type ovs-port conn.interface "$uplink" slave-type ovs-bridge master br-ex \
  connection.autoconnect-slaves 1
add ovs-port-br-ex type ovs-port conn.interface br-ex slave-type ovs-bridge master br-ex
add ovs-if-phys0 type 802-3-ethernet conn.interface "$uplink" slave-type ovs-port master ovs-port-phys0 \
  connection.autoconnect-priority 100 802-3-ethernet.mtu "$mtu" 802-3-ethernet.cloned-mac-address "$mac"
add ovs-if-br-ex type ovs-interface conn.interface br-ex slave-type ovs-port master ovs-port-br-ex \
  802-3-ethernet.mtu "$mtu" 802-3-ethernet.cloned-mac-address "$mac" \
  ipv4.method auto ipv4.route-metric 48 ipv4.may-fail no ipv6.method auto ipv6.route-metric 48
for profile in br-ex ovs-if-phys0 ovs-if-br-ex; do
  nmcli connection up "$profile"
  nmcli connection modify --temporary "$profile" connection.autoconnect yes
done
