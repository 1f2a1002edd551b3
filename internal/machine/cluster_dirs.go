// SPDX-License-Identifier: Apache-2.0

package machine

// ClusterDirs returns the directories to which only kubelet, CRI-O and the
// cluster's pods write. Their original contents are recorded, so that leave can
// remove what was added, including credentials of the cluster.
//
// /etc/cni/multus and /etc/cni/tuning belong to Multus (hostPath volumes of
// cluster-network-operator's multus.yaml), the directories of OVN to ovnkube-node,
// and /run/ofport_requests.br-ex to the payload's 10-ofport-request.sh.
func ClusterDirs() []string {
	return []string{
		"/var/lib/kubelet", "/var/log/pods", "/var/log/containers", "/var/log/crio", "/var/lib/crio",
		"/etc/cni/multus", "/etc/cni/tuning", "/var/lib/cni", "/run/multus", "/var/lib/ovnk", "/run/nodeip-configuration",
		"/var/lib/ovn-ic", "/var/lib/ovn", "/etc/ovn", "/var/log/ovn", "/var/log/ovn-kubernetes",
		"/run/ovn-ic", "/run/ovn", "/run/ovn-kubernetes", "/run/ofport_requests.br-ex",
		"/etc/crio/policies", "/etc/node-sizing.env", "/etc/node-sizing-version.json",
		"/etc/openshift/kubelet.conf.d/20-auto-sizing.conf",
	}
}

// SharedDirs returns the directories in which the cluster creates directories and
// administrators create files: podman networks, CRI-O hooks, kubelet drop-ins.
func SharedDirs() []string {
	return []string{"/etc/cni", "/etc/containers/oci", "/etc/openshift"}
}

// PluginDirs returns the directories into which pods, and possibly
// administrators, install plugins. If a directory contained files before the join,
// the origin of new files cannot be determined. Otherwise they belong to the node.
func PluginDirs() []string {
	return []string{
		"/opt/cni", "/etc/kubernetes/cni", "/etc/kubernetes/kubelet-plugins", "/etc/kubernetes/static-pod-resources",
	}
}
