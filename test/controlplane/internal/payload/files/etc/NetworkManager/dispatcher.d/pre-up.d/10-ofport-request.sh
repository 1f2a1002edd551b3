#!/bin/bash
# Requests for each uplink of br-ex the OpenFlow port that it had first since the
# boot, because OVN-Kubernetes' flows name that port. The real one has the same
# checks and the same record in /run, and serves a second bridge.
set -eux -o pipefail
interface=$1 operation=$2
[ "$operation" = pre-up ] || exit 0

# setting PROFILE NAME: one setting of a profile, by its UUID or name.
setting() { nmcli -g "$2" connection show "$1"; }

profile=$(nmcli -t -f device,type,uuid connection | awk -F: -v i="$interface" '$1 == i && $2 !~ /^ovs/ { print $NF }')
[ -n "$profile" ] && [ "$(setting "$profile" connection.slave-type)" = ovs-port ] || exit 0
master=$(setting "$profile" connection.master)
port=$(nmcli -t -f device,type,uuid connection | awk -F: -v m="$master" '($1 == m || $3 == m) && $2 ~ /^ovs/ { print $NF }')
[ -n "$port" ] && [ "$(setting "$port" connection.slave-type)" = ovs-bridge ] || exit 0
[ "$(setting "$(setting "$port" connection.master)" connection.interface-name)" = br-ex ] || exit 0
ovs-vsctl list Interface "$interface" >/dev/null 2>&1 || exit 0

record=/run/ofport_requests.br-ex
declare -A INTERFACES
# shellcheck source=/dev/null
if [ -f "$record" ]; then . "$record"; fi
if [ -z "${INTERFACES[$interface]:-}" ]; then
  INTERFACES[$interface]=$(ovs-vsctl get Interface "$interface" ofport)
fi
ovs-vsctl set Interface "$interface" ofport_request="${INTERFACES[$interface]}"
declare -p INTERFACES >|"$record"
