// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Evidence contains the facts that explain the problems of pods.
type Evidence struct {
	KubeletErrors  []string // kubelet's errors of the last minutes, the newest last; kubelet retries a pull every five
	Registries     []string // registries in the node's pull secret; nil if unknown
	NetworkMissing bool     // the pod network is not ready
}

// Problem describes why a pod is not running properly.
type Problem struct {
	Pod        *corev1.Pod
	Reason     string        // completes "pod X is not up: "
	remedy     report.Remedy // "" for the default command
	Details    []string
	CauseKnown bool // the cause is known; otherwise the pod may only need time

	uncredentialed string // registry of the pod's image for which the node has no credential; "" for another cause
}

// Name returns the namespace and the name of the pod.
func (p *Problem) Name() string { return p.Pod.Namespace + "/" + p.Pod.Name }

// Remedy returns how to resolve or examine the problem.
func (p *Problem) Remedy() report.Remedy {
	if p.remedy != "" {
		return p.remedy
	}
	return report.Remedyf("oc -n %s describe pod %s", p.Pod.Namespace, p.Pod.Name)
}

// Finding returns the finding for this pod alone.
func (p *Problem) Finding(severity report.Severity) report.Finding {
	f := report.Finding{
		Severity:  severity,
		Reason:    report.PodNotReady,
		Message:   "pod " + p.Name() + " is not ready: " + p.Reason,
		Remedy:    p.Remedy(),
		Details:   p.Details,
		Temporary: !p.CauseKnown,
	}
	if p.CauseKnown || p.Pod.Spec.HostNetwork { // other pods wait for the pod network
		f.Subject = "pod " + p.Name()
	}
	return f
}

// Problems returns the pods that are not running properly, the most likely
// cause of other failures first.
func Problems(pods []*corev1.Pod, e Evidence) []*Problem {
	var problems []*Problem
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue // it is being deleted
		}
		if problem := explainPod(pod, e); problem != nil {
			problem.addPlatformHint()
			problems = append(problems, problem)
		}
	}
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(startupPriority(a), startupPriority(b)), cmp.Compare(a.Name(), b.Name()))
	})
	return problems
}

// addPlatformHint extends the explanation for static pods that manage a cluster's virtual
// IP addresses on platforms other than None.
//
// Field reports: they cannot work on a worker in another network, and use half
// the CPU of a small host.
func (p *Problem) addPlatformHint() {
	platform, found := strings.CutSuffix(strings.TrimPrefix(p.Pod.Namespace, "openshift-"), "-infra")
	if _, isStatic := p.Pod.Annotations[corev1.MirrorPodAnnotationKey]; !found || !isStatic {
		return
	}
	manifest := "/etc/kubernetes/manifests/" + strings.TrimSuffix(p.Pod.Name, "-"+p.Pod.Spec.NodeName) + ".yaml"
	p.Reason += "; it is a static pod of platform " + platform + ", which a worker in another network does not need"
	p.remedy = report.Remedy("hcp-node-agent leave # then: hcp-node-agent join --user-data USER_DATA " +
		"--payload-drop " + manifest)
}

// startupPriority orders pods by how many others depend on them. All pods depend on the
// connection to the API server, and pods on the pod network depend on the
// network plugin.
func startupPriority(p *Problem) int {
	place := 30
	switch {
	case p.Pod.Namespace == "kube-system" && strings.HasPrefix(p.Pod.Name, "kube-apiserver-proxy"):
		place = 0
	case IsNetworkPlugin(p.Pod):
		place = 10
		if p.Pod.Namespace == "openshift-multus" {
			place = 11 // it waits for the plugin that it calls
		}
	case p.Pod.Spec.HostNetwork:
		place = 20
	}
	if !p.CauseKnown {
		place += 15 // after pods of the next kind whose cause is known
	}
	return place
}

// IsNetworkPlugin reports whether the pod sets up the pod network.
func IsNetworkPlugin(pod *corev1.Pod) bool {
	return pod.Spec.HostNetwork && slices.Contains([]string{
		"openshift-ovn-kubernetes", "openshift-multus", "openshift-sdn",
		"calico-system", "tigera-operator", "cilium", "kube-flannel",
	}, pod.Namespace)
}

// explainPod explains why a pod is not running properly. It returns nil for a pod
// that is running, or has succeeded.
func explainPod(pod *corev1.Pod, e Evidence) *Problem {
	p := &Problem{Pod: pod}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return nil
	case pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		p.explainRejected()
		return p
	case p.explainContainers("init container", pod.Spec.InitContainers, pod.Status.InitContainerStatuses, e),
		p.explainContainers("container", pod.Spec.Containers, pod.Status.ContainerStatuses, e):
		return p
	case pod.Status.Phase == corev1.PodRunning:
		return nil
	case pod.Status.Phase == corev1.PodFailed:
		p.Reason, p.CauseKnown = "it has failed", true
		return p
	}
	p.explainNotStarted(e)
	return p
}

// explainRejected explains a pod that kubelet rejected or evicted.
func (p *Problem) explainRejected() {
	reason, message := p.Pod.Status.Reason, servicelog.Shorten(p.Pod.Status.Message, servicelog.MaxExcerpt)
	p.CauseKnown = true
	p.Reason = reason + ": " + message
	if resource, found := strings.CutPrefix(reason, "OutOf"); found {
		p.Reason = fmt.Sprintf("this node does not have enough %s for it (%s)", resource, message)
		p.remedy = report.Remedy("oc describe node " + p.Pod.Spec.NodeName + " # shows the allocated resources")
	}
	switch reason {
	case "Evicted":
		p.Reason = "kubelet evicted it: " + message
	case "NodeAffinity":
		p.Reason = "its node selector or affinity does not match this Node's labels (" + message + ")"
		p.remedy = report.Remedy("oc get node " + p.Pod.Spec.NodeName + " --show-labels")
	case "UnexpectedAdmissionError", "SysctlForbidden", "AppArmor":
		p.Reason = "kubelet rejects it: " + message
	}
}
