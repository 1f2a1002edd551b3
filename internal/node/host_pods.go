// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// readyFindings returns findings about a Node that is Ready and schedulable: a wrong clock,
// which breaks certificates and leases later, the pods that the host itself needs, and registries for which the
// node has no credential. Without its pods the node may have no connection to webhooks, DNS or storage.
func (n *Node) readyFindings(ctx context.Context, node *corev1.Node) []report.Finding {
	f := facts{name: n.Name, bootID: n.BootID, node: node, clockOffset: clockOffset(n.Conn)}
	all, err := n.podsAtVersion(ctx, "0")
	if ctx.Err() != nil {
		return nil
	}
	f.podsErr = err
	for _, pod := range all {
		if isHostPod(pod) {
			f.pods = append(f.pods, pod)
		}
	}
	// The host is searched for the cause only if there is a failure.
	if len(failingPodFindings(f)) > 0 || slices.ContainsFunc(all, pods.AwaitsImage) {
		f.hostState = n.Host.gatherFacts(ctx)
	}
	findings := slices.Concat(clockFinding(f), failingPodFindings(f), pods.MissingCredentials(all, f.evidence()))
	return append(findings, n.unknownPodsFindings(ctx, f)...)
}

// failingPodFindings returns a warning for each pod whose failure has a known cause. Others
// may be starting.
func failingPodFindings(f facts) []report.Finding {
	var findings []report.Finding
	for _, problem := range pods.Problems(f.pods, f.evidence()) {
		if problem.CauseKnown {
			findings = append(findings, problem.Finding(report.SeverityWarning))
		}
	}
	return findings
}

// isHostPod reports whether a pod belongs to the host and not to a user of
// the cluster: static pods, and the DaemonSets of Kubernetes, OpenShift and the
// network plugin.
func isHostPod(pod *corev1.Pod) bool {
	if _, isStatic := pod.Annotations[corev1.MirrorPodAnnotationKey]; isStatic {
		return true
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "DaemonSet" {
		return false
	}
	return isClusterNamespace(pod.Namespace) || pods.IsNetworkPlugin(pod)
}

// isClusterNamespace reports whether a namespace belongs to Kubernetes or OpenShift, and not to a user of
// the cluster.
func isClusterNamespace(name string) bool {
	return name == metav1.NamespaceSystem || strings.HasPrefix(name, "openshift-")
}
