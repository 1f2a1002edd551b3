package openvswitch

// ClearRemote is the command, as a line of a unit file has it, that makes
// ovn-controller wait until it is told anew where the cluster's database is: it
// sets external_ids:ovn-remote to one blank, as configure-ovs.sh does first of
// all since June 2025. The Open vSwitch database outlives a reboot, and with
// what it has from before one ovn-controller builds the network of a cluster
// that has changed meanwhile (https://issues.redhat.com/browse/FDP-1537).
const ClearRemote = `/usr/bin/ovs-vsctl --no-wait --timeout=10 set Open_vSwitch . "external_ids:ovn-remote= "`
