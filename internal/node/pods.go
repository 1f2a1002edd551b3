package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/servicelog"
)

// podProblem describes why a pod is not running properly.
type podProblem struct {
	pod        *corev1.Pod
	reason     string        // completes "pod X is not up: "
	remedy     report.Remedy // "" for the default command
	details    []string
	causeKnown bool // the cause is known; otherwise the pod may only need time
}

func (p *podProblem) podName() string { return p.pod.Namespace + "/" + p.pod.Name }

func (p *podProblem) command() report.Remedy {
	if p.remedy != "" {
		return p.remedy
	}
	return report.Remedy(fmt.Sprintf("oc -n %s describe pod %s", p.pod.Namespace, p.pod.Name))
}

// finding returns the finding for this pod alone.
func (p *podProblem) finding(severity report.Severity) report.Finding {
	f := report.Finding{
		Severity:  severity,
		Message:   "pod " + p.podName() + " is not up: " + p.reason,
		Remedy:    p.command(),
		Details:   p.details,
		Temporary: !p.causeKnown,
	}
	if p.causeKnown || p.pod.Spec.HostNetwork { // other pods wait for the pod network
		f.Subject = "pod " + p.podName()
	}
	return f
}

// podProblems returns the pods that are not running properly, the most likely
// cause of other failures first.
func podProblems(f facts) []*podProblem {
	var troubles []*podProblem
	for _, pod := range f.pods {
		if pod.DeletionTimestamp != nil {
			continue // it is being deleted
		}
		if trouble := explainPod(pod, f); trouble != nil {
			trouble.addPlatformHint()
			troubles = append(troubles, trouble)
		}
	}
	slices.SortStableFunc(troubles, func(a, b *podProblem) int {
		return cmp.Or(cmp.Compare(startupPriority(a), startupPriority(b)), cmp.Compare(a.podName(), b.podName()))
	})
	return troubles
}

// addPlatformHint extends the explanation for static pods that manage a cluster's virtual
// IP addresses on platforms other than None.
//
// Field reports: they cannot work on a worker in another network, and use half
// the CPU of a small host.
func (p *podProblem) addPlatformHint() {
	platform, found := strings.CutSuffix(strings.TrimPrefix(p.pod.Namespace, "openshift-"), "-infra")
	if _, isStatic := p.pod.Annotations[corev1.MirrorPodAnnotationKey]; !found || !isStatic {
		return
	}
	manifest := "/etc/kubernetes/manifests/" + strings.TrimSuffix(p.pod.Name, "-"+p.pod.Spec.NodeName) + ".yaml"
	p.reason += "; it is a static pod of platform " + platform + ", which a worker in another network does not need"
	p.remedy = report.Remedy("hcp-node-agent leave # and then: hcp-node-agent join --user-data STUB --payload-drop " + manifest)
}

// startupPriority orders pods by how many others depend on them. All pods depend on the
// connection to the API server, and pods on the pod network depend on the
// network plugin.
func startupPriority(p *podProblem) int {
	place := 30
	switch {
	case p.pod.Namespace == "kube-system" && strings.HasPrefix(p.pod.Name, "kube-apiserver-proxy"):
		place = 0
	case isNetworkPlugin(p.pod):
		place = 10
		if p.pod.Namespace == "openshift-multus" {
			place = 11 // it waits for the plugin that it calls
		}
	case p.pod.Spec.HostNetwork:
		place = 20
	}
	if !p.causeKnown {
		place += 15 // after pods of the next kind whose cause is known
	}
	return place
}

// isNetworkPlugin reports whether the pod sets up the pod network.
func isNetworkPlugin(pod *corev1.Pod) bool {
	for _, namespace := range []string{
		"openshift-ovn-kubernetes", "openshift-multus", "openshift-sdn",
		"calico-system", "tigera-operator", "cilium", "kube-flannel",
	} {
		if pod.Namespace == namespace {
			return pod.Spec.HostNetwork
		}
	}
	return false
}

// explainPod explains why a pod is not running properly. It returns nil for a pod
// that is running, or has succeeded.
func explainPod(pod *corev1.Pod, f facts) *podProblem {
	p := &podProblem{pod: pod}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return nil
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		p.explainRejected()
		return p
	case p.explainContainers("init container", pod.Spec.InitContainers, pod.Status.InitContainerStatuses, f),
		p.explainContainers("container", pod.Spec.Containers, pod.Status.ContainerStatuses, f):
		return p
	case pod.Status.Phase == corev1.PodRunning:
		return nil
	case pod.Status.Phase == corev1.PodFailed:
		p.reason, p.causeKnown = "it has failed", true
		return p
	}
	p.explainNotStarted(f)
	return p
}

// explainRejected explains a pod that kubelet rejected or evicted.
func (p *podProblem) explainRejected() {
	reason, message := p.pod.Status.Reason, servicelog.Shorten(p.pod.Status.Message, servicelog.MaxExcerpt)
	p.causeKnown = true
	p.reason = reason + ": " + message
	if resource, found := strings.CutPrefix(reason, "OutOf"); found {
		p.reason = fmt.Sprintf("this node has too little %s left for it (%s)", resource, message)
		p.remedy = report.Remedy("oc describe node " + p.pod.Spec.NodeName + " # shows what is allocated")
	}
	switch reason {
	case "Evicted":
		p.reason = "kubelet evicted it: " + message
	case "NodeAffinity":
		p.reason = "its node selector or affinity does not fit this Node's labels (" + message + ")"
		p.remedy = report.Remedy("oc get node " + p.pod.Spec.NodeName + " --show-labels")
	case "UnexpectedAdmissionError", "SysctlForbidden", "AppArmor":
		p.reason = "kubelet refuses it: " + message
	}
}
