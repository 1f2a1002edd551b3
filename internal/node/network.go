// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// isNetworkMissing reports whether the Node is not Ready because it has no pod
// network.
func isNetworkMissing(node *corev1.Node) bool {
	ready := kube.NodeCondition(node, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionFalse &&
		(strings.Contains(ready.Message, "NetworkPluginNotReady") ||
			strings.Contains(ready.Message, "NetworkReady=false"))
}

// networkFindings explains a missing pod network, the most common reason for a Node
// that is not Ready: the network plugin's pods start last and write its
// configuration. namedPod is the pod that the findings name first.
func (f facts) networkFindings(problems []*pods.Problem) (all []report.Finding, namedPod *pods.Problem) {
	finding := report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.PodNetworkNotReady,
		Subject:  "the network plugin",
		Message:  "the network plugin is not running",
		Remedy:   report.Remedy("oc get pods -A -o wide --field-selector spec.nodeName=" + f.name),
		Details:  servicelog.Format(kube.NodeCondition(f.node, corev1.NodeReady).Message),
	}
	if len(f.hostState.networkConfigs) == 0 {
		finding.Message = "the network plugin has not written its configuration yet (" + f.hostState.cniDir +
			" is empty)"
	}
	// Pods that wait for the pod network are not its cause.
	causes := slices.DeleteFunc(slices.Clone(problems),
		func(p *pods.Problem) bool { return !p.CauseKnown && !p.Pod.Spec.HostNetwork })
	switch {
	case f.podsErr != nil:
		return []report.Finding{finding}, nil
	case len(f.pods) == 0:
		finding.Message += "; no pod is assigned to this node yet"
		finding.Remedy = "oc get clusteroperator network; oc get daemonsets -A"
		return []report.Finding{finding}, nil
	case len(causes) == 0 && !slices.ContainsFunc(f.pods, pods.IsNetworkPlugin):
		finding.Message += "; no pod of a network plugin is assigned to this node, only " +
			joinFirst(slices.Sorted(slices.Values(qualifiedPodNames(f.pods))), 3)
		finding.Remedy = "oc get clusteroperator network; oc -n openshift-ovn-kubernetes get daemonsets"
		return []report.Finding{finding}, nil
	case f.isSubnetMissing():
		return append([]report.Finding{subnetFinding(f.name)}, finding), nil
	case len(causes) == 0:
		return []report.Finding{finding}, nil
	}
	namedPod = causes[0]
	finding.Message += "; pod " + namedPod.Name() + " is not ready: " + namedPod.Reason
	finding.Remedy, finding.Details, finding.Temporary = namedPod.Remedy(), append(finding.Details,
		namedPod.Details...), !namedPod.CauseKnown
	return []report.Finding{finding}, namedPod
}

// isSubnetMissing reports whether OVN-Kubernetes runs on this node and waits for
// its control plane, which assigns a pod subnet to every node.
func (f facts) isSubnetMissing() bool {
	if f.node.Annotations["k8s.ovn.org/node-subnets"] != "" {
		return false
	}
	return slices.ContainsFunc(f.pods, func(pod *corev1.Pod) bool {
		return pod.Namespace == "openshift-ovn-kubernetes" &&
			slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
				// The container names since 4.14 and before.
				started := s.State.Running != nil || s.LastTerminationState.Terminated != nil
				return (s.Name == "ovnkube-controller" || s.Name == "ovnkube-node") && started && !s.Ready
			})
	})
}

// subnetFinding returns the finding for a missing pod subnet. Field report: a
// missing certificate on the management cluster kept OVN's control plane from
// starting; on the node only the missing subnet was visible.
func subnetFinding(node string) report.Finding {
	return report.Finding{
		Severity: report.SeverityProblem,
		Reason:   report.PodSubnetMissing,
		Subject:  "no pod subnet",
		Message: "OVN-Kubernetes has not assigned Node " + node + " a pod subnet (annotation " +
			"k8s.ovn.org/node-subnets): its control plane is not running; for a hosted cluster it runs on the " +
			"management cluster and needs Secret ovn-control-plane-metrics-cert there",
		Remedy: "# on the management cluster:\noc -n NAMESPACE-HC get pods -l app=ovnkube-control-plane\n" +
			"oc -n NAMESPACE-HC get secret ovn-control-plane-metrics-cert",
	}
}
