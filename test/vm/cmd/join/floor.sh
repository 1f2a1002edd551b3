#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# floor.sh NIC: brings a host to the state of a joined node with everything prepared by prepare.sh: no fetch, no
# check, no certificate request, no record for a leave.
set -euo pipefail
tar -C / -xf /root/floor.tar
systemctl daemon-reload
systemctl restart systemd-modules-load || true
sysctl --quiet --system
systemctl start openvswitch
/root/classic.sh "$1"
xargs systemctl start --no-block </root/floor.units
