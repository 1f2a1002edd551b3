package kubelet

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// hostPods returns findings about the pods that the host itself needs, for a
// Node that is Ready and schedulable. Without these pods the node may have no
// connection to webhooks, DNS or storage.
func (n *Node) hostPods(ctx context.Context, node *corev1.Node) []Finding {
	f := facts{name: n.Name, boot: n.BootID, node: node}
	f.pods, f.noPods = n.podsOf(ctx, "0")
	if ctx.Err() != nil {
		return nil
	}
	f.pods = slices.DeleteFunc(f.pods, func(pod *corev1.Pod) bool { return !neededByHost(pod) })
	if len(failing(f)) > 0 { // the host is searched for the cause only in this case
		f.machine, f.absent = n.Machine.look(ctx), n.absent(ctx, f.pods)
	}
	findings := failing(f)
	return append(findings, n.withoutPods(f)...)
}

// failing returns a warning for each pod whose failure has a known cause. Others
// may be starting.
func failing(f facts) []Finding {
	var findings []Finding
	for _, trouble := range podTroubles(f) {
		if trouble.certain {
			findings = append(findings, trouble.finding(report.SeverityWarning))
		}
	}
	return findings
}

// neededByHost reports whether a pod belongs to the host and not to a user of
// the cluster: static pods, and the DaemonSets of Kubernetes, OpenShift and the
// network plugin.
func neededByHost(pod *corev1.Pod) bool {
	if _, isStatic := pod.Annotations[corev1.MirrorPodAnnotationKey]; isStatic {
		return true
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "DaemonSet" {
		return false
	}
	return pod.Namespace == metav1.NamespaceSystem || strings.HasPrefix(pod.Namespace, "openshift-") || isNetworkPlugin(pod)
}
