package kubelet

import corev1 "k8s.io/api/core/v1"

// knownTaint is the story of a taint: who sets it, who removes it.
type knownTaint struct {
	key    string
	story  string
	remedy string // with NODE for the node's name; "" when waiting is all
}

// knownTaints are the taints that Kubernetes and OpenShift set by themselves.
func knownTaints() []knownTaint {
	return []knownTaint{
		{
			key:   corev1.TaintNodeNotReady,
			story: "the node lifecycle controller sets it while the Node is not Ready, and removes it within seconds of Ready",
		},
		{
			key:    corev1.TaintNodeUnreachable,
			story:  "the node lifecycle controller sets it when kubelet stops reporting, and removes it when kubelet reports again",
			remedy: "journalctl -b -u kubelet",
		},
		{
			key:    corev1.TaintNodeNetworkUnavailable,
			story:  "it is set until the network plugin has set up its routes on this node, and removed by it",
			remedy: "oc get pods -A -o wide --field-selector spec.nodeName=NODE",
		},
		{
			key:    "k8s.ovn.org/network-unavailable",
			story:  "OVN-Kubernetes sets it until its network is up on this node, and removes it",
			remedy: "oc -n openshift-ovn-kubernetes get pods -o wide --field-selector spec.nodeName=NODE",
		},
		{
			key:    corev1.TaintNodeMemoryPressure,
			story:  "the node lifecycle controller sets it while kubelet reports too little free memory",
			remedy: "free -m",
		},
		{
			key:    corev1.TaintNodeDiskPressure,
			story:  "the node lifecycle controller sets it while kubelet reports too little free disk space or inodes",
			remedy: "df -h /var/lib/kubelet /var/lib/containers; df -i /var/lib/kubelet /var/lib/containers",
		},
		{
			key:    corev1.TaintNodePIDPressure,
			story:  "the node lifecycle controller sets it while kubelet reports too few free process numbers",
			remedy: "sysctl kernel.pid_max; ps -eLf | wc -l",
		},
		{
			key:    corev1.TaintNodeUnschedulable,
			story:  "somebody cordoned the Node; it stays until somebody uncordons it",
			remedy: "oc adm uncordon NODE",
		},
		{
			// field report: a node was Ready and yet tainted for days, because
			// its payload came from a cluster of another platform.
			key: "node.cloudprovider.kubernetes.io/uninitialized",
			story: "kubelet sets it when it runs with --cloud-provider=external, and a cloud controller manager would remove it; " +
				"on platform None there is none: the payload is of a NodePool or cluster of another platform",
			remedy: "join with the stub of a NodePool of platform None; to use the node until then: " +
				"oc adm taint node NODE node.cloudprovider.kubernetes.io/uninitialized-",
		},
		{
			key: "UpdateInProgress",
			story: "the machine-config controller sets it while the node's configuration is not the desired one, and removes it when the " +
				"machine-config daemon on the node reports Done",
			remedy: "oc get node NODE -o yaml | grep machineconfiguration.openshift.io",
		},
		{
			key:    "node.kubernetes.io/out-of-service",
			story:  "an administrator set it so that pods leave a machine that is shut down; an administrator removes it",
			remedy: "oc adm taint node NODE node.kubernetes.io/out-of-service-",
		},
		{
			key:    "ToBeDeletedByClusterAutoscaler",
			story:  "the cluster autoscaler sets it on a node that it is about to delete",
			remedy: "oc adm taint node NODE ToBeDeletedByClusterAutoscaler-   if the autoscaler does not manage this node",
		},
		{
			key:    "node-role.kubernetes.io/master",
			story:  "kubelet registers control plane nodes with it; a worker has it when its payload is that of a master",
			remedy: "join with the stub of a worker NodePool",
		},
	}
}
