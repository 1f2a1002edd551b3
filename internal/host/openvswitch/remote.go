// SPDX-License-Identifier: Apache-2.0

package openvswitch

// ClearRemoteCommand is the command, in the syntax of a unit file, that makes
// ovn-controller wait until the address of the cluster's database is configured
// again. It sets external_ids:ovn-remote to one space, as configure-ovs.sh does
// as its first command since June 2025. The Open vSwitch database survives a
// reboot. With its old content ovn-controller would configure the network of a
// cluster that has changed since (https://issues.redhat.com/browse/FDP-1537).
const ClearRemoteCommand = `/usr/bin/ovs-vsctl --no-wait --timeout=10 set Open_vSwitch . "external_ids:ovn-remote= "`
