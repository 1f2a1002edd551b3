package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// podTrouble is a pod that is not up, and why.
type podTrouble struct {
	pod     *corev1.Pod
	why     string // goes behind "pod X is not up: "
	remedy  string // "" for the usual one
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

// finding tells about the pod alone.
func (t *podTrouble) finding(severity report.Severity) Finding {
	f := Finding{
		Severity: severity, Text: "pod " + t.name() + " is not up: " + t.why, Remedy: t.command(), Details: t.details, passing: !t.certain,
	}
	if t.certain || t.pod.Spec.HostNetwork { // the others wait for the pod network
		f.About = "pod " + t.name()
	}
	return f
}

// podTroubles lists the pods that are not up, the likeliest reason for the
// others first.
func podTroubles(f facts) []*podTrouble {
	var troubles []*podTrouble
	for _, pod := range f.pods {
		if pod.DeletionTimestamp != nil {
			continue // it is to go
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

// ofPlatform is for the static pods that hold a cluster's virtual addresses on
// platforms of their own.
//
// field reports: they cannot work on a worker in another network, and take
// half of a small machine's processor.
func (t *podTrouble) ofPlatform() {
	platform, found := strings.CutSuffix(strings.TrimPrefix(t.pod.Namespace, "openshift-"), "-infra")
	if _, isStatic := t.pod.Annotations[corev1.MirrorPodAnnotationKey]; !found || !isStatic {
		return
	}
	manifest := "/etc/kubernetes/manifests/" + strings.TrimSuffix(t.pod.Name, "-"+t.pod.Spec.NodeName) + ".yaml"
	t.why += "; it is a static pod of platform " + platform + ", which a worker in another network does not need"
	t.remedy = "hcp-node-agent leave # and then: hcp-node-agent join --user-data STUB --payload-drop " + manifest
}

// rank orders pods by how much others wait for them: all for the way to the
// API server, those with a network of their own for the network plugin.
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
		place += 15 // behind those of the next kind whose cause is known
	}
	return place
}

// isNetworkPlugin knows the pods whose work is to set up the pod network.
func isNetworkPlugin(pod *corev1.Pod) bool {
	for _, namespace := range []string{"openshift-ovn-kubernetes", "openshift-multus", "openshift-sdn", "calico-system", "tigera-operator", "cilium", "kube-flannel"} {
		if pod.Namespace == namespace {
			return pod.Spec.HostNetwork
		}
	}
	return false
}

// whyNotUp is nil for a pod that runs, or has ended well.
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

// rejected is for a pod that kubelet did not take, or ended.
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
