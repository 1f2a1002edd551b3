// SPDX-License-Identifier: Apache-2.0

// Package hoststate contains the script that captures the state of a host, to compare it before a join and after leave.
package hoststate

// Script prints the state that a join changes and leave must restore: files with mode, owner
// and content, units, profiles, addresses, routes, bridges. It omits state that changes on any
// running machine, and the backups of shadow-utils.
const Script = `
export LC_ALL=C
find -H /etc /home /var/mail /opt /srv /usr/local /usr/lib/systemd /usr/lib/NetworkManager /var/lib /boot -xdev \
 \( -path /etc/openvswitch -o -path /var/lib/NetworkManager -o -path /var/lib/systemd -o -path /var/lib/hcp-node-agent \
     -o -path /var/lib/openvswitch -o -path /var/lib/dbus -o -path /etc/.pwd.lock -o -path '/etc/*-' \) -prune -o -printf 'file %p %y %#m %u:%g %l\n' | sort
find -H /etc /home /var/mail /opt /srv /usr/local /usr/lib/systemd /usr/lib/NetworkManager /var/lib -xdev \
 \( -path /etc/openvswitch -o -path /var/lib/NetworkManager -o -path /var/lib/systemd -o -path /var/lib/hcp-node-agent \
     -o -path /var/lib/openvswitch -o -path /var/lib/dbus -o -path /etc/.pwd.lock -o -path '/etc/*-' \) -prune -o -type f -exec sha256sum {} + | sed 's/^/content /' | sort -k3
find /run/systemd/system /run/systemd/transient -mindepth 1 -printf 'runtime %p %y %l\n' 2>/dev/null | grep -v '\.mount\|\.scope\|session-\|hcp-node-agent' | sort
systemctl list-units --no-legend --plain --no-pager --type=service --state=active,failed | awk '{print "service", $1, $3}' \
  | grep -v 'user@\|user-runtime\|getty\|tmpfiles-clean\|dispatcher\|hostnamed\|logrotate\|wait-online' | sort
# NetworkManager makes up a profile for lo at every start.
nmcli -t -f NAME,UUID,TYPE,DEVICE,AUTOCONNECT,AUTOCONNECT-PRIORITY connection show | grep -v :loopback: |
  sed 's/^/profile /' | sort
for uuid in $(nmcli -g UUID,TYPE connection show | grep -v ':loopback$' | cut -d: -f1 | sort); do
  nmcli connection show "$uuid" | grep '^[a-z]' | grep -v timestamp | sed "s/^/setting $uuid /"
done
ip -o address show | sed 's/ valid_lft.*//; s/^[0-9]*: //; s/\\//' | grep -v 'inet6 fe80' |
  awk '{$1=$1; print "address", $0}' | sort
ip route show | sed 's/^/route /; s/ *$//' | sort
ip -br link | awk '{print "link", $1, $3}' | sort
if ovs-vsctl --timeout=5 list-br 2>/dev/null | sed 's/^/bridge /' | grep .; then :; fi
ip rule | sed 's/^/rule /'
`
