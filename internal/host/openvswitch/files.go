// SPDX-License-Identifier: Apache-2.0

package openvswitch

// ExternalBridge is the bridge to the host's network, named as OVN-Kubernetes on
// OpenShift expects it.
const ExternalBridge = "br-ex"

// DatabaseFiles returns the paths of Open vSwitch's database. The first can be a
// symbolic link to the second.
func DatabaseFiles() []string {
	return []string{"/etc/openvswitch/conf.db", "/var/lib/openvswitch/conf.db"}
}
