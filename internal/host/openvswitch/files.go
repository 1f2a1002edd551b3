// SPDX-License-Identifier: Apache-2.0

package openvswitch

// The units of Open vSwitch. Unit starts the other two, and remains active if one of them is stopped.
const (
	Unit         = "openvswitch.service"
	DatabaseUnit = "ovsdb-server.service"
	SwitchUnit   = "ovs-vswitchd.service"
)

// Datapath is the interface of the kernel's datapath, which has the ports of all bridges.
const Datapath = "ovs-system"

// ExternalBridge is the bridge to the host's network, named as OVN-Kubernetes on
// OpenShift expects it.
const ExternalBridge = "br-ex"

// DatabaseFiles returns the paths of Open vSwitch's database. The first can be a
// symbolic link to the second.
func DatabaseFiles() []string {
	return []string{"/etc/openvswitch/conf.db", "/var/lib/openvswitch/conf.db"}
}
