package kubelet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// containers explains the first container that is not running properly and
// reports whether there is one. An init container must have exited with 0 or
// run as a sidecar.
func (t *podTrouble) containers(kind string, specs []corev1.Container, statuses []corev1.ContainerStatus, f facts) bool {
	for n := range statuses {
		s := &statuses[n]
		image := s.Image
		if i := slices.IndexFunc(specs, func(c corev1.Container) bool { return c.Name == s.Name }); i >= 0 {
			image = specs[i].Image // as requested; the status contains the resolved name
		}
		named := kind + " " + s.Name
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason == "PodInitializing":
			continue
		case s.State.Waiting != nil:
			t.waiting(named, image, s, f)
			return true
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			t.crashed(named, s.State.Terminated)
			return true
		case s.State.Running != nil && !s.Ready && (kind == "container" || s.Started == nil || !*s.Started):
			t.running(named, kind, s, f)
			return true
		}
	}
	return false
}

func (t *podTrouble) waiting(named, image string, s *corev1.ContainerStatus, f facts) {
	reason, message := s.State.Waiting.Reason, s.State.Waiting.Message
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "SignatureValidationFailed", "ImageInspectError":
		t.pulling(image, reason, message, f)
	case "CrashLoopBackOff":
		if s.LastTerminationState.Terminated != nil {
			t.crashed(named, s.LastTerminationState.Terminated)
			return
		}
		t.why, t.certain = named+" ends soon after each start", true
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError":
		if r, absent := t.absent(f, false); absent {
			t.missing(r)
			return
		}
		t.certain, t.details = true, inWords(message)
		t.why = named + " cannot be started: " + shorten(message, brief)
		if m := regexp.MustCompile(`couldn't find key (\S+) in (Secret|ConfigMap) (\S+)`).FindStringSubmatch(message); m != nil {
			t.why = fmt.Sprintf("%s %s has no key %s, which %s needs", m[2], m[3], m[1], named)
		}
	default:
		t.notStarted(f)
		if message != "" && !t.certain {
			t.why = fmt.Sprintf("%s: %s: %s", named, reason, shorten(message, brief))
		}
	}
}

// pulling explains why an image cannot be pulled. During the back-off older
// kubelets do not report the reason in the status, so it is read from their
// journal.
func (t *podTrouble) pulling(image, reason, message string, f facts) {
	detail := message
	if _, last, found := strings.Cut(message, "Back-off pulling image "); found {
		_, detail, _ = strings.Cut(last, ": ")
	}
	if detail == "" {
		for _, line := range slices.Backward(f.machine.kubelet) {
			if strings.Contains(line, "Back-off") || !strings.Contains(line, image) {
				continue
			}
			detail = plain(line)
			break
		}
	}
	if reason == "InvalidImageName" {
		detail = reason
	}
	c := pulling(image, detail, f.machine.auths)
	t.certain = true
	t.why = "image " + shortImage(image) + " cannot be pulled: " + c.text
	t.remedy = c.remedy
	t.details = inWords(detail, "image "+image)
}

// crashed explains the exit of a container. A container in a crash loop
// alternates between waiting, running and terminated; the text is the same for
// all three.
func (t *podTrouble) crashed(named string, end *corev1.ContainerStateTerminated) {
	t.certain = true
	message := redact.Text(strings.TrimSpace(end.Message))
	lines := strings.Split(message, "\n")
	last := shorten(lines[len(lines)-1], brief)
	t.why = fmt.Sprintf("%s ended with exit code %d", named, end.ExitCode)
	container := named[strings.LastIndex(named, " ")+1:]
	t.remedy = fmt.Sprintf("oc -n %s logs %s -c %s --previous", t.pod.Namespace, t.pod.Name, container)
	switch {
	case end.Reason == "OOMKilled":
		t.why = named + " was ended by the kernel: it took more memory than its limit"
	case end.Signal != 0:
		t.why = fmt.Sprintf("%s was ended by signal %d", named, end.Signal)
	case end.Reason == "ContainerCannotRun", end.Reason == "StartError":
		t.why = named + " cannot be run"
	}
	if c, _, known := knownCause(lines, surroundings); known {
		t.why += ": " + c.text
		if serviceNetwork.MatchString(message) {
			t.why += "; that is the cluster's service network, which the network plugin (before it: kube-proxy) sets up on this node"
		}
	} else if last != "" {
		t.why += ": " + last
	}
	if message != "" {
		t.details = inWords(lastOf(lines, 5)...)
	}
}

// running explains a container that runs but is not ready. It usually only
// needs more time, unless it has crashed before.
func (t *podTrouble) running(named, kind string, s *corev1.ContainerStatus, f facts) {
	if before := s.LastTerminationState.Terminated; before != nil && before.ExitCode != 0 && s.RestartCount > 0 {
		t.crashed(named, before)
		return
	}
	t.why = named + " runs, but is not ready"
	if kind != "container" {
		t.why = named + " is running"
	}
	// Field report: the sidecars that protect OVN's metrics wait forever for a
	// certificate that their pod can start without.
	if r, absent := t.absent(f, true); absent {
		t.missing(r)
		t.why, t.certain = named+" runs, but is not ready; "+strings.Replace(t.why, "needs", "can use", 1), false
	}
}
