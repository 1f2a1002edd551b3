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
func (t *podProblem) explainNotStarted(f facts) {
	if r, absent := t.missingReference(f, false); absent {
		t.explainMissing(r)
		return
	}
	lines := linesAboutPod(f.hostState.kubeletErrors, t.pod)
	if len(lines) > 0 && t.explainPauseImage(lines, f) {
		return
	}
	if c, line, known := servicelog.FindCause(lines,
		func() []servicelog.Pattern { return slices.Concat(servicelog.HostCauses(), servicelog.RuntimeCauses()) }); known {
		t.reason, t.remedy, t.details, t.causeKnown = "kubelet cannot start it: "+
			c.Text, c.Remedy, servicelog.Format(line), true
		return
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { // normal shortly after a pod is assigned
		return strings.Contains(line, "network is not ready") || strings.Contains(line, "not registered")
	})
	if len(lines) > 0 {
		t.reason, t.details = "kubelet cannot start it: "+servicelog.Shorten(servicelog.FormatLine(lines[len(lines)-1]),
			servicelog.MaxExcerpt), servicelog.Format(lines...)
		return
	}
	t.reason = "it is being started"
	if !t.pod.Spec.HostNetwork && f.node != nil && isNetworkMissing(f.node) {
		t.reason = "it waits for the pod network"
	}
}

// explainPauseImage reports whether the pause image cannot be pulled, and explains it.
// Without that image no pod starts, and the status of a pod does not cover its
// sandbox.
func (t *podProblem) explainPauseImage(lines []string, f facts) bool {
	source := regexp.MustCompile(`creating pod sandbox.*(?:initializing source|pinging).*docker://([^\s"]+?): (.*)`)
	for _, line := range slices.Backward(lines) {
		if match := source.FindStringSubmatch(line); match != nil {
			c := explainPullError(match[1], match[2], f.hostState.registries)
			t.reason = "CRI-O's pause image " + shortImage(match[1]) + " cannot be pulled: " + c.Text
			t.remedy = "crio config 2>/dev/null | grep pause_image # hcp-node-agent join sets the release's\n" +
				c.Remedy
			t.details, t.causeKnown = servicelog.Format(line), true
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
func (t *podProblem) missingReference(f facts, optional bool) (reference, bool) {
	for _, needed := range references(t.pod) {
		if needed.optional == optional && slices.Contains(f.missing, needed) {
			return needed, true
		}
	}
	return reference{}, false
}

func (t *podProblem) explainMissing(r reference) {
	t.causeKnown = true
	t.reason = r.String() + ", which it needs, does not exist"
	who, remedy := ownerOf(r)
	if who != "" {
		t.reason += "; " + who
	}
	t.remedy = remedy
}
