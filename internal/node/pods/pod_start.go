// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

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
	var about []string
	for _, line := range lines {
		if strings.Contains(line, `pod="`+pod.Namespace+"/"+pod.Name+`"`) ||
			(pod.UID != "" && strings.Contains(line, string(pod.UID))) {
			about = append(about, line)
		}
	}
	return about
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
