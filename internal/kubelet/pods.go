package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// podTrouble describes why a pod is not running properly.
type podTrouble struct {
	pod     *corev1.Pod
	why     string // completes "pod X is not up: "
	remedy  string // "" for the default command
	details []string
	certain bool // the cause is known; otherwise the pod may only need time
}

func (t *podTrouble) name() string { return t.pod.Namespace + "/" + t.pod.Name }

func (t *podTrouble) command() string {
	if t.remedy != "" {
		return t.remedy
	}
	return fmt.Sprintf("oc -n %s describe pod %s", t.pod.Namespace, t.pod.Name)
}

// finding returns the finding for this pod alone.
func (t *podTrouble) finding(severity report.Severity) Finding {
	f := Finding{
		Severity: severity, Text: "pod " + t.name() + " is not up: " + t.why, Remedy: t.command(), Details: t.details, passing: !t.certain,
	}
	if t.certain || t.pod.Spec.HostNetwork { // other pods wait for the pod network
		f.About = "pod " + t.name()
	}
	return f
}

// podTroubles returns the pods that are not running properly, the most likely
// cause of other failures first.
func podTroubles(f facts) []*podTrouble {
	var troubles []*podTrouble
	for _, pod := range f.pods {
		if pod.DeletionTimestamp != nil {
			continue // it is being deleted
		}
		if trouble := whyNotUp(pod, f); trouble != nil {
			trouble.ofPlatform()
			troubles = append(troubles, trouble)
		}
	}
	slices.SortStableFunc(troubles, func(a, b *podTrouble) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name(), b.name()))
	})
	return troubles
}

// ofPlatform extends the explanation for static pods that manage a cluster's virtual
// IP addresses on platforms other than None.
//
// Field reports: they cannot work on a worker in another network, and use half
// the CPU of a small host.
func (t *podTrouble) ofPlatform() {
	platform, found := strings.CutSuffix(strings.TrimPrefix(t.pod.Namespace, "openshift-"), "-infra")
	if _, isStatic := t.pod.Annotations[corev1.MirrorPodAnnotationKey]; !found || !isStatic {
		return
	}
	manifest := "/etc/kubernetes/manifests/" + strings.TrimSuffix(t.pod.Name, "-"+t.pod.Spec.NodeName) + ".yaml"
	t.why += "; it is a static pod of platform " + platform + ", which a worker in another network does not need"
	t.remedy = "hcp-node-agent leave # and then: hcp-node-agent join --user-data STUB --payload-drop " + manifest
}

// rank orders pods by how many others depend on them. All pods depend on the
// connection to the API server, and pods on the pod network depend on the
// network plugin.
func rank(t *podTrouble) int {
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
	if !t.certain {
		place += 15 // after pods of the next kind whose cause is known
	}
	return place
}

// isNetworkPlugin reports whether the pod sets up the pod network.
func isNetworkPlugin(pod *corev1.Pod) bool {
	for _, namespace := range []string{"openshift-ovn-kubernetes", "openshift-multus", "openshift-sdn", "calico-system", "tigera-operator", "cilium", "kube-flannel"} {
		if pod.Namespace == namespace {
			return pod.Spec.HostNetwork
		}
	}
	return false
}

// whyNotUp explains why a pod is not running properly. It returns nil for a pod
// that is running, or has succeeded.
func whyNotUp(pod *corev1.Pod, f facts) *podTrouble {
	t := &podTrouble{pod: pod}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return nil
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		t.rejected()
		return t
	case t.containers("init container", pod.Spec.InitContainers, pod.Status.InitContainerStatuses, f),
		t.containers("container", pod.Spec.Containers, pod.Status.ContainerStatuses, f):
		return t
	case pod.Status.Phase == corev1.PodRunning:
		return nil
	case pod.Status.Phase == corev1.PodFailed:
		t.why, t.certain = "it has failed", true
		return t
	}
	t.notStarted(f)
	return t
}

// rejected explains a pod that kubelet rejected or evicted.
func (t *podTrouble) rejected() {
	reason, message := t.pod.Status.Reason, shorten(t.pod.Status.Message, brief)
	t.certain = true
	t.why = reason + ": " + message
	if resource, found := strings.CutPrefix(reason, "OutOf"); found {
		t.why = fmt.Sprintf("this node has too little %s left for it (%s)", resource, message)
		t.remedy = "oc describe node " + t.pod.Spec.NodeName + " # shows what is allocated"
	}
	switch reason {
	case "Evicted":
		t.why = "kubelet evicted it: " + message
	case "NodeAffinity":
		t.why = "its node selector or affinity does not fit this Node's labels (" + message + ")"
		t.remedy = "oc get node " + t.pod.Spec.NodeName + " --show-labels"
	case "UnexpectedAdmissionError", "SysctlForbidden", "AppArmor":
		t.why = "kubelet refuses it: " + message
	}
}
