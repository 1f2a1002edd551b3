package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// podTrouble is a pod that is not up, and why.
type podTrouble struct {
	namespace, name, why string
	hostNetwork          bool
}

// podTroubles lists the pods that are not up; those that need no pod network
// come first, because the others wait for them.
func podTroubles(pods []*corev1.Pod) []podTrouble {
	var troubles []podTrouble
	for _, pod := range pods {
		if why := whyNotUp(pod); why != "" {
			troubles = append(troubles, podTrouble{namespace: pod.Namespace, name: pod.Name, why: why, hostNetwork: pod.Spec.HostNetwork})
		}
	}
	slices.SortFunc(troubles, func(a, b podTrouble) int {
		if a.hostNetwork != b.hostNetwork {
			if a.hostNetwork {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name)
	})
	return troubles
}

// listed names the first few.
func listed(troubles []podTrouble) string {
	const shown = 4
	var texts []string
	for n, t := range troubles {
		if n == shown {
			texts = append(texts, fmt.Sprintf("and %d more", len(troubles)-shown))
			break
		}
		texts = append(texts, fmt.Sprintf("%s/%s (%s)", t.namespace, t.name, t.why))
	}
	return strings.Join(texts, ", ")
}

// whyNotUp is "" for a pod that runs, or has ended well.
func whyNotUp(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	if pod.Status.Reason != "" {
		return shorten(pod.Status.Reason + ": " + pod.Status.Message)
	}
	if why := containersWhy("init container", pod.Status.InitContainerStatuses, true); why != "" {
		return why
	}
	if why := containersWhy("container", pod.Status.ContainerStatuses, false); why != "" {
		return why
	}
	if pod.Status.Phase == corev1.PodRunning {
		return ""
	}
	return "not started yet"
}

// containersWhy tells about the first container that is not well. An init
// container is well when it has ended with 0, or runs as a sidecar.
func containersWhy(kind string, statuses []corev1.ContainerStatus, init bool) string {
	for n := range statuses {
		s := &statuses[n]
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "PodInitializing":
			why := fmt.Sprintf("%s %s: %s", kind, s.Name, s.State.Waiting.Reason)
			if s.State.Waiting.Message != "" {
				why += ": " + s.State.Waiting.Message
			}
			return shorten(why)
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return shorten(fmt.Sprintf("%s %s ended with status %d (%s)", kind, s.Name, s.State.Terminated.ExitCode, s.State.Terminated.Reason))
		case init && s.State.Running != nil && !s.Ready && (s.Started == nil || !*s.Started):
			return fmt.Sprintf("%s %s is running", kind, s.Name)
		case !init && s.State.Running != nil && !s.Ready:
			return fmt.Sprintf("%s %s runs, but is not ready", kind, s.Name)
		}
	}
	return ""
}
