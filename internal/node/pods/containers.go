// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explainContainers explains the first container that is not running properly and
// reports whether there is one. An init container must have exited with 0 or
// run as a sidecar.
func (p *Problem) explainContainers(
	kind string, specs []corev1.Container, statuses []corev1.ContainerStatus, e Evidence,
) bool {
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
			p.explainWaiting(named, image, s, e)
			return true
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			p.explainExit(named, s.State.Terminated)
			return true
		case s.State.Running != nil && !s.Ready && (kind == "container" || s.Started == nil || !*s.Started):
			p.explainNotReady(named, kind, s)
			return true
		}
	}
	return false
}

func (p *Problem) explainWaiting(named, image string, s *corev1.ContainerStatus, e Evidence) {
	reason, message := s.State.Waiting.Reason, s.State.Waiting.Message
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable",
		"SignatureValidationFailed", "ImageInspectError":
		p.explainPull(image, reason, message, e)
	case "CrashLoopBackOff":
		if s.LastTerminationState.Terminated != nil {
			p.explainExit(named, s.LastTerminationState.Terminated)
			return
		}
		p.Reason, p.CauseKnown = named+" exits soon after each start", true
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreStartHookError",
		"PostStartHookError":
		if p.explainMissingObject([]string{message}) {
			return
		}
		p.CauseKnown, p.Details = true, servicelog.Format(message)
		p.Reason = named + " cannot be started: " + servicelog.Shorten(message, servicelog.MaxExcerpt)
		missingKey := regexp.MustCompile(`couldn't find key (\S+) in (Secret|ConfigMap) (\S+)`)
		if m := missingKey.FindStringSubmatch(message); m != nil {
			p.Reason = fmt.Sprintf("%s %s has no key %s, which %s requires", m[2], m[3], m[1], named)
		}
	default:
		p.explainNotStarted(e)
		if message != "" && !p.CauseKnown {
			p.Reason = fmt.Sprintf("%s: %s: %s", named, reason, servicelog.Shorten(message, servicelog.MaxExcerpt))
		}
	}
}

// explainPull explains why an image cannot be pulled. During the back-off older
// kubelets do not report the reason in the status, so it is read from their
// journal.
func (p *Problem) explainPull(image, reason, message string, e Evidence) {
	detail := message
	if _, last, found := strings.Cut(message, "Back-off pulling image "); found {
		_, detail, _ = strings.Cut(last, ": ")
	}
	if detail == "" {
		for _, line := range slices.Backward(e.KubeletErrors) {
			if strings.Contains(line, "Back-off") || !strings.Contains(line, image) {
				continue
			}
			detail = servicelog.FormatLine(line)
			break
		}
	}
	if reason == "InvalidImageName" {
		detail = reason
	}
	c, uncredentialed := classifyPull(image, detail, e.Registries)
	p.CauseKnown, p.uncredentialed = true, uncredentialed
	p.Reason = "image " + shortImage(image) + " cannot be pulled: " + c.Text
	p.remedy = c.Remedy
	p.Details = servicelog.Format(detail, "image "+image)
}

// serviceNetworkPattern matches connections to the first address of the default
// service networks, which is the address of the API server in the cluster.
var serviceNetworkPattern = regexp.MustCompile(`dial tcp (172\.30|10\.96|172\.31)\.0\.1:443`)

// explainExit explains the exit of a container. A container in a crash loop
// alternates between waiting, running and terminated; the text is the same for
// all three.
func (p *Problem) explainExit(named string, end *corev1.ContainerStateTerminated) {
	p.CauseKnown = true
	message := redact.Text(strings.TrimSpace(end.Message))
	lines := strings.Split(message, "\n")
	last := servicelog.Shorten(lines[len(lines)-1], servicelog.MaxExcerpt)
	p.Reason = fmt.Sprintf("%s exited with code %d", named, end.ExitCode)
	container := named[strings.LastIndex(named, " ")+1:]
	p.remedy = report.Remedyf("oc -n %s logs %s -c %s --previous", p.Pod.Namespace, p.Pod.Name, container)
	switch {
	case end.Reason == "OOMKilled":
		p.Reason = named + " was killed by the kernel: it used more memory than its limit"
	case end.Signal != 0:
		p.Reason = fmt.Sprintf("%s was killed by signal %d", named, end.Signal)
	case end.Reason == "ContainerCannotRun", end.Reason == "StartError":
		p.Reason = named + " cannot be run"
	}
	if c, _, known := servicelog.FindCause(lines, servicelog.HostCauses); known {
		p.Reason += ": " + c.Text
		if serviceNetworkPattern.MatchString(message) {
			p.Reason += "; this is the cluster's service network, which the network plugin (before it: " +
				"kube-proxy) sets up on this node"
		}
	} else if last != "" {
		p.Reason += ": " + last
	}
	if message != "" {
		p.Details = servicelog.Format(servicelog.Last(lines, 5)...)
	}
}

// explainNotReady explains a container that runs but is not ready. It usually only
// needs more time, unless it has crashed before.
func (p *Problem) explainNotReady(named, kind string, s *corev1.ContainerStatus) {
	if before := s.LastTerminationState.Terminated; before != nil && before.ExitCode != 0 && s.RestartCount > 0 {
		p.explainExit(named, before)
		return
	}
	p.Reason = named + " is running, but not ready"
	if kind != "container" {
		p.Reason = named + " is running"
	}
}

// explainNotStarted explains a pod without a container status: a volume or the sandbox
// is missing. The pod's status does not contain the cause, so it is searched
// for in kubelet's journal.
func (p *Problem) explainNotStarted(e Evidence) {
	lines := linesAboutPod(e.KubeletErrors, p.Pod)
	if p.explainPauseImage(lines, e) || p.explainMissingObject(lines) {
		return
	}
	if c, line, known := servicelog.FindCause(lines,
		func() []servicelog.Pattern { return slices.Concat(servicelog.HostCauses(), servicelog.RuntimeCauses()) }); known {
		p.Reason, p.remedy, p.Details, p.CauseKnown = "kubelet cannot start it: "+
			c.Text, c.Remedy, servicelog.Format(line), true
		return
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { // normal shortly after a pod is assigned
		return strings.Contains(line, "network is not ready") || strings.Contains(line, "not registered")
	})
	if len(lines) > 0 {
		p.Reason, p.Details = "kubelet cannot start it: "+servicelog.Shorten(servicelog.FormatLine(lines[len(lines)-1]),
			servicelog.MaxExcerpt), servicelog.Format(lines...)
		return
	}
	p.Reason = "it is starting"
	if !p.Pod.Spec.HostNetwork && e.NetworkMissing {
		p.Reason = "it is waiting for the pod network"
	}
}

// explainPauseImage reports whether the pause image cannot be pulled, and explains it.
// Without that image no pod starts, and the status of a pod does not cover its
// sandbox.
func (p *Problem) explainPauseImage(lines []string, e Evidence) bool {
	source := regexp.MustCompile(`creating pod sandbox.*(?:initializing source|pinging).*docker://([^\s"]+?): (.*)`)
	for _, line := range slices.Backward(lines) {
		if match := source.FindStringSubmatch(line); match != nil {
			c := ExplainPull(match[1], match[2], e.Registries)
			p.Reason = "CRI-O's pause image " + shortImage(match[1]) + " cannot be pulled: " + c.Text
			p.remedy = "crio config 2>/dev/null | grep pause_image # hcp-node-agent join sets the pause image of " +
				"the release\n" + c.Remedy
			p.Details, p.CauseKnown = servicelog.Format(line), true
			return true
		}
	}
	return false
}

// linesAboutPod returns kubelet's log lines about one pod.
func linesAboutPod(lines []string, pod *corev1.Pod) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return !strings.Contains(line, `pod="`+pod.Namespace+"/"+pod.Name+`"`) &&
			(pod.UID == "" || !strings.Contains(line, string(pod.UID)))
	})
}

// explainMissingObject reports whether one of kubelet's messages names a Secret or ConfigMap that the pod
// requires and the cluster lacks, and explains the newest such message.
func (p *Problem) explainMissingObject(messages []string) bool {
	missing := regexp.MustCompile(`(?i)\b(secret|configmap) \\*"([^"\\]+)\\*" not found`)
	for _, message := range slices.Backward(messages) {
		match := missing.FindStringSubmatch(message)
		if match == nil {
			continue
		}
		kind := "Secret"
		if strings.EqualFold(match[1], "ConfigMap") {
			kind = "ConfigMap"
		}
		p.Reason = kind + " " + p.Pod.Namespace + "/" + match[2] + ", which it requires, does not exist"
		p.remedy = report.Remedyf("oc -n %s get %s %s", p.Pod.Namespace, strings.ToLower(kind), match[2])
		p.Details, p.CauseKnown = servicelog.Format(message), true
		return true
	}
	return false
}
