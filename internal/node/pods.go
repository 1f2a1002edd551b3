package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/servicelog"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// podProblem describes why a pod is not running properly.
type podProblem struct {
	pod        *corev1.Pod
	reason     string // completes "pod X is not up: "
	remedy     string // "" for the default command
	details    []string
	causeKnown bool // the cause is known; otherwise the pod may only need time
}

func (t *podProblem) podName() string { return t.pod.Namespace + "/" + t.pod.Name }

func (t *podProblem) command() string {
	if t.remedy != "" {
		return t.remedy
	}
	return fmt.Sprintf("oc -n %s describe pod %s", t.pod.Namespace, t.pod.Name)
}

// finding returns the finding for this pod alone.
func (t *podProblem) finding(severity report.Severity) Finding {
	f := Finding{
		Severity:  severity,
		Text:      "pod " + t.podName() + " is not up: " + t.reason,
		Remedy:    t.command(),
		Details:   t.details,
		temporary: !t.causeKnown,
	}
	if t.causeKnown || t.pod.Spec.HostNetwork { // other pods wait for the pod network
		f.About = "pod " + t.podName()
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
func (t *podProblem) addPlatformHint() {
	platform, found := strings.CutSuffix(strings.TrimPrefix(t.pod.Namespace, "openshift-"), "-infra")
	if _, isStatic := t.pod.Annotations[corev1.MirrorPodAnnotationKey]; !found || !isStatic {
		return
	}
	manifest := "/etc/kubernetes/manifests/" + strings.TrimSuffix(t.pod.Name, "-"+t.pod.Spec.NodeName) + ".yaml"
	t.reason += "; it is a static pod of platform " + platform + ", which a worker in another network does not need"
	t.remedy = "hcp-node-agent leave # and then: hcp-node-agent join --user-data STUB --payload-drop " + manifest
}

// startupPriority orders pods by how many others depend on them. All pods depend on the
// connection to the API server, and pods on the pod network depend on the
// network plugin.
func startupPriority(t *podProblem) int {
	place := 30
	switch {
	case t.pod.Namespace == "kube-system" && strings.HasPrefix(t.pod.Name, "kube-apiserver-proxy"):
		place = 0
	case isNetworkPlugin(t.pod):
		place = 10
		if t.pod.Namespace == "openshift-multus" {
			place = 11 // it waits for the plugin that it calls
		}
	case t.pod.Spec.HostNetwork:
		place = 20
	}
	if !t.causeKnown {
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
	t := &podProblem{pod: pod}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return nil
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		t.explainRejected()
		return t
	case t.explainContainers("init container", pod.Spec.InitContainers, pod.Status.InitContainerStatuses, f),
		t.explainContainers("container", pod.Spec.Containers, pod.Status.ContainerStatuses, f):
		return t
	case pod.Status.Phase == corev1.PodRunning:
		return nil
	case pod.Status.Phase == corev1.PodFailed:
		t.reason, t.causeKnown = "it has failed", true
		return t
	}
	t.explainNotStarted(f)
	return t
}

// explainRejected explains a pod that kubelet rejected or evicted.
func (t *podProblem) explainRejected() {
	reason, message := t.pod.Status.Reason, servicelog.Shorten(t.pod.Status.Message, servicelog.MaxExcerpt)
	t.causeKnown = true
	t.reason = reason + ": " + message
	if resource, found := strings.CutPrefix(reason, "OutOf"); found {
		t.reason = fmt.Sprintf("this node has too little %s left for it (%s)", resource, message)
		t.remedy = "oc describe node " + t.pod.Spec.NodeName + " # shows what is allocated"
	}
	switch reason {
	case "Evicted":
		t.reason = "kubelet evicted it: " + message
	case "NodeAffinity":
		t.reason = "its node selector or affinity does not fit this Node's labels (" + message + ")"
		t.remedy = "oc get node " + t.pod.Spec.NodeName + " --show-labels"
	case "UnexpectedAdmissionError", "SysctlForbidden", "AppArmor":
		t.reason = "kubelet refuses it: " + message
	}
}
