#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Start-up script for a RHEL instance on Google Compute Engine. It runs at every boot.
# The user data is the instance metadata "hcp-user-data"; remove it after the join.
set -euo pipefail

# The host has joined, or the service resumes its join.
[ ! -e /var/lib/hcp-node-agent/join.json ] || exit 0

metadata=http://metadata.google.internal/computeMetadata/v1/instance/attributes
userdata=$(curl -fsS --retry 5 -H 'Metadata-Flavor: Google' "$metadata/hcp-user-data") || exit 0

cat >/etc/yum.repos.d/hcp-node-agent.repo <<'REPO'
[hcp-node-agent]
name=hcp-node-agent
baseurl=https://packages.example.com/hcp-node-agent
gpgkey=https://packages.example.com/hcp-node-agent/RPM-GPG-KEY
gpgcheck=1
REPO
dnf install -y hcp-node-agent

install -m 0600 /dev/stdin /etc/hcp-node-agent/user-data.ign <<<"$userdata"
systemctl start --no-block hcp-node-agent.service hcp-node-agent.path
