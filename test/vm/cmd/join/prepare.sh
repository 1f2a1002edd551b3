#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prepare.sh: saves in /root/floor.tar what a join has written to the host since /root/before was created, and in
# /root/floor.units the services that have been started since.
set -euo pipefail
find /etc /usr/local /opt /var/lib/kubelet /var/lib/containers/registries.conf.d -xdev \
  \( -type f -o -type l \) -newercm /root/before \
  ! -path '/etc/hcp-node-agent/*' ! -path '/etc/openvswitch/*' ! -path '/etc/kubernetes/cni/*' ! -path '/etc/NetworkManager/system-connections/*' \
  ! -path '/var/lib/kubelet/pods/*' ! -path '/var/lib/kubelet/plugins*' ! -path '/var/lib/kubelet/*_state' \
  ! -path '*/.hcp-node-agent*' 2>/dev/null >/root/floor.files || true
tar -C / -cf /root/floor.tar --files-from=/root/floor.files 2>/dev/null
active() { systemctl list-units --type=service --state=active --plain --no-legend | awk '{print $1}' | sort; }
comm -13 /root/units.before <(active) | grep -v -e '^hcp-node-agent' -e '^run-' -e dispatcher -e '^user' -e session >/root/floor.units
wc -l /root/floor.files /root/floor.units
