package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/servicelog"

	corev1 "k8s.io/api/core/v1"
)

// explainNotStarted explains a pod without a container status: a volume or the sandbox
// is missing. The pod's status does not contain the cause, so it is searched
// for in the cluster's objects and in kubelet's journal.
func (p *podProblem) explainNotStarted(f facts) {
	if r, absent := p.missingReference(f, false); absent {
		p.explainMissing(r)
		return
	}
	lines := linesAboutPod(f.hostState.kubeletErrors, p.pod)
	if len(lines) > 0 && p.explainPauseImage(lines, f) {
		return
	}
	if c, line, known := servicelog.FindCause(lines,
		func() []servicelog.Pattern { return slices.Concat(servicelog.HostCauses(), servicelog.RuntimeCauses()) }); known {
		p.reason, p.remedy, p.details, p.causeKnown = "kubelet cannot start it: "+
			c.Text, c.Remedy, servicelog.Format(line), true
		return
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { // normal shortly after a pod is assigned
		return strings.Contains(line, "network is not ready") || strings.Contains(line, "not registered")
	})
	if len(lines) > 0 {
		p.reason, p.details = "kubelet cannot start it: "+servicelog.Shorten(servicelog.FormatLine(lines[len(lines)-1]),
			servicelog.MaxExcerpt), servicelog.Format(lines...)
		return
	}
	p.reason = "it is being started"
	if !p.pod.Spec.HostNetwork && f.node != nil && isNetworkMissing(f.node) {
		p.reason = "it waits for the pod network"
	}
}

// explainPauseImage reports whether the pause image cannot be pulled, and explains it.
// Without that image no pod starts, and the status of a pod does not cover its
// sandbox.
func (p *podProblem) explainPauseImage(lines []string, f facts) bool {
	source := regexp.MustCompile(`creating pod sandbox.*(?:initializing source|pinging).*docker://([^\s"]+?): (.*)`)
	for _, line := range slices.Backward(lines) {
		if match := source.FindStringSubmatch(line); match != nil {
			c := explainPullError(match[1], match[2], f.hostState.registries)
			p.reason = "CRI-O's pause image " + shortImage(match[1]) + " cannot be pulled: " + c.Text
			p.remedy = "crio config 2>/dev/null | grep pause_image # hcp-node-agent join sets the release's\n" +
				c.Remedy
			p.details, p.causeKnown = servicelog.Format(line), true
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

// missingReference returns the first object that this pod needs and the cluster lacks.
// With optional, it considers only objects that the pod can start without.
func (p *podProblem) missingReference(f facts, optional bool) (reference, bool) {
	for _, needed := range references(p.pod) {
		if needed.optional == optional && slices.Contains(f.missing, needed) {
			return needed, true
		}
	}
	return reference{}, false
}

func (p *podProblem) explainMissing(r reference) {
	p.causeKnown = true
	p.reason = r.String() + ", which it needs, does not exist"
	who, remedy := ownerOf(r)
	if who != "" {
		p.reason += "; " + who
	}
	p.remedy = remedy
}
