// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// knownTaint describes a known taint: who sets it, who removes it. In explanation and
// remedy NODE stands for the node's name and KEY for the taint's.
type knownTaint struct {
	key         string // a leading "*" matches anything
	explanation string
	remedy      report.Remedy
	temporary   bool // removed automatically, within seconds of Ready
	// removedByComponent means that a component of the cluster removes the taint when it is ready.
	removedByComponent bool
}

func newTaint(key, explanation string, remedy report.Remedy) knownTaint {
	return knownTaint{key: key, explanation: explanation, remedy: remedy}
}

func (k knownTaint) asTemporary() knownTaint {
	k.temporary = true
	return k
}

func (k knownTaint) asRemovedByComponent() knownTaint {
	k.removedByComponent = true
	return k
}

func (k knownTaint) matches(key string) bool {
	end, any := strings.CutPrefix(k.key, "*")
	return k.key == key || (any && strings.HasSuffix(key, end))
}

// machineConfigTaint is the taint of a node whose configuration is being updated.
const machineConfigTaint = "UpdateInProgress"

const machineConfigPrefix = "machineconfiguration.openshift.io/"

// machineConfigState returns the machine-config daemon's annotations of the
// Node.
func machineConfigState(node *corev1.Node) []string {
	var lines []string
	for _, name := range []string{"state", "reason", "currentConfig", "desiredConfig"} {
		if value := node.Annotations[machineConfigPrefix+name]; value != "" {
			lines = append(lines, name+": "+servicelog.Shorten(value, servicelog.MaxMessage))
		}
	}
	return lines
}

// knownTaints returns the taints that Kubernetes, OpenShift and common add-ons
// set automatically.
func knownTaints() []knownTaint {
	return append(kubernetesTaints(), operatorTaints()...)
}

// kubernetesTaints returns the taints of Kubernetes itself
// (k8s.io/api/core/v1/well_known_taints.go, cloud-provider/api).
func kubernetesTaints() []knownTaint {
	return []knownTaint{
		newTaint(corev1.TaintNodeNotReady,
			"the node lifecycle controller sets it while the Node is not Ready, and removes it within seconds of Ready",
			"oc -n NAMESPACE-HC get pods -l app=kube-controller-manager # "+
				"on the management cluster, if the taint remains").asTemporary(),
		newTaint(corev1.TaintNodeUnreachable,
			"the node lifecycle controller sets it when kubelet stops reporting, and removes it when kubelet reports again",
			"journalctl -b -u kubelet").asTemporary(),
		newTaint(corev1.TaintNodeNetworkUnavailable,
			"the network plugin removes it when the routes of this node are set up",
			"oc get pods -A -o wide --field-selector spec.nodeName=NODE").asTemporary(),
		newTaint(corev1.TaintNodeMemoryPressure,
			"the node lifecycle controller sets it while kubelet reports too little free memory",
			"free -m"),
		newTaint(corev1.TaintNodeDiskPressure,
			"the node lifecycle controller sets it while kubelet reports too little free disk space or inodes",
			"df -h /var/lib/kubelet /var/lib/containers; df -i /var/lib/kubelet /var/lib/containers"),
		newTaint(corev1.TaintNodePIDPressure,
			"the node lifecycle controller sets it while kubelet reports too few free process IDs",
			"sysctl kernel.pid_max; ps -eLf | wc -l"),
		newTaint(corev1.TaintNodeUnschedulable,
			"an administrator cordoned the Node; it remains until it is uncordoned",
			"oc adm uncordon NODE"),
		newTaint(corev1.TaintNodeOutOfService,
			"an administrator set it so that pods leave a machine that is shut down; an administrator must remove it",
			"oc adm taint node NODE KEY-"),
		// Field report: a node was Ready but tainted for days, because its payload
		// came from a cluster of another platform.
		newTaint("node.cloudprovider.kubernetes.io/uninitialized",
			"kubelet sets it when it runs with --cloud-provider=external, and a cloud controller manager removes it; platform "+
				"None has no cloud controller manager: the payload belongs to a NodePool or cluster of another platform",
			"# join with the user data of a NodePool of platform None; to use the node until then:\noc adm taint node NODE "+
				"KEY-"),
		newTaint("node.cloudprovider.kubernetes.io/shutdown",
			"a cloud controller manager sets it when the cloud reports that the machine is off, and removes it when the "+
				"machine is on",
			"oc get node NODE -o jsonpath='{.spec.providerID}'"),
		controlPlaneTaint("node-role.kubernetes.io/master"),
		controlPlaneTaint("node-role.kubernetes.io/control-plane"),
		newTaint("node-role.kubernetes.io/infra",
			"an administrator reserves the node for routers, registry and monitoring with it, and no controller removes it; "+
				"only pods that tolerate it are scheduled here",
			"oc adm taint node NODE KEY- # if other pods may run here too"),
	}
}

func controlPlaneTaint(key string) knownTaint {
	return newTaint(key,
		"kubelet registers control plane nodes with it, and no controller removes it; a worker has it if its payload is "+
			"for a control plane node",
		"# join with the user data of a worker NodePool")
}

// operatorTaints returns the taints of OpenShift's and other operators.
func operatorTaints() []knownTaint {
	return []knownTaint{
		newTaint(machineConfigTaint,
			"the machine-config controller sets it while the node's configuration is not the desired one, and removes it when "+
				"the machine-config daemon on the node reports Done; a hosted cluster of platform None has neither",
			"oc get node NODE -o yaml | grep "+machineConfigPrefix),
		newTaint("k8s.ovn.org/network-unavailable",
			"OVN-Kubernetes sets it until its network is ready on this node, and removes it",
			"oc -n openshift-ovn-kubernetes get pods -o wide --field-selector spec.nodeName=NODE").asTemporary(),
		newTaint("ToBeDeletedByClusterAutoscaler",
			"the cluster autoscaler sets it on a node that it is about to delete, and removes it if the node is kept",
			"oc adm taint node NODE KEY- # if the autoscaler does not manage this node"),
		newTaint("DeletionCandidateOfClusterAutoscaler",
			"the cluster autoscaler sets it on nodes that it may delete soon, and removes it when they are needed",
			"oc adm taint node NODE KEY- # if the autoscaler does not manage this node"),
		newTaint("node.cluster.x-k8s.io/uninitialized",
			"the Cluster API sets it at registration, and removes it when it has found the Node's Machine; on platform None "+
				"no Machine exists, and the taint remains",
			"# join with the user data of a NodePool of platform None; to use the node until then:\noc adm taint node NODE "+
				"KEY-"),
		// ebs, efs
		newTaint("*.csi.aws.com/agent-not-ready",
			"the node was registered with it, and the CSI driver's pod on this node removes it when it is ready; it remains "+
				"if the cluster has no such driver",
			"oc get pods -A -o wide --field-selector spec.nodeName=NODE | grep csi\noc adm taint node NODE KEY- # if the "+
				"cluster has no such driver").asRemovedByComponent(),
		// other CSI drivers, and Cilium
		newTaint("*/agent-not-ready",
			"the node was registered with it, and the agent that KEY names removes it when its pod on this node is ready; it "+
				"remains if the cluster has no such agent",
			"oc get pods -A -o wide --field-selector spec.nodeName=NODE\noc adm taint node NODE KEY- # if the cluster has no "+
				"such agent").asRemovedByComponent(),
		newTaint("node.ocs.openshift.io/storage",
			"an administrator reserves the node for OpenShift Data Foundation with it, and no controller removes it; only "+
				"storage pods are scheduled here",
			"oc adm taint node NODE KEY- # if other pods may run here too"),
		newTaint("medik8s.io/drain",
			"the node maintenance operator sets it while the Node is in maintenance, and removes it with the NodeMaintenance",
			"oc get nodemaintenance"),
		newTaint("medik8s.io/remediation",
			"a remediation operator sets it while it repairs or reboots an unhealthy node, and removes it afterwards",
			"oc get nodehealthcheck,selfnoderemediation -A"),
		newTaint("kubevirt.io/drain",
			"OpenShift Virtualization sets it so that virtual machines leave the node; it must be removed after the drain",
			"oc adm taint node NODE KEY- # when the maintenance is complete"),
	}
}
