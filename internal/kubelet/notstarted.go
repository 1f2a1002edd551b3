package kubelet

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// notStarted explains a pod without a container status: a volume or the sandbox
// is missing. The pod's status does not contain the cause, so it is searched
// for in the cluster's objects and in kubelet's journal.
func (t *podTrouble) notStarted(f facts) {
	if r, absent := t.absent(f, false); absent {
		t.missing(r)
		return
	}
	lines := errorsAbout(f.machine.kubelet, t.pod)
	if len(lines) > 0 && t.pausing(lines, f) {
		return
	}
	if c, line, known := knownCause(lines, func() []causePattern { return slices.Concat(surroundings(), runtimeCauses()) }); known {
		t.why, t.remedy, t.details, t.certain = "kubelet cannot start it: "+c.text, c.remedy, inWords(line), true
		return
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { // normal shortly after a pod is assigned
		return strings.Contains(line, "network is not ready") || strings.Contains(line, "not registered")
	})
	if len(lines) > 0 {
		t.why, t.details = "kubelet cannot start it: "+shorten(plain(lines[len(lines)-1]), brief), inWords(lines...)
		return
	}
	t.why = "it is being started"
	if !t.pod.Spec.HostNetwork && f.node != nil && networkMissing(f.node) {
		t.why = "it waits for the pod network"
	}
}

// pausing reports whether the pause image cannot be pulled, and explains it.
// Without that image no pod starts, and the status of a pod does not cover its
// sandbox.
func (t *podTrouble) pausing(lines []string, f facts) bool {
	source := regexp.MustCompile(`creating pod sandbox.*(?:initializing source|pinging).*docker://([^\s"]+?): (.*)`)
	for _, line := range slices.Backward(lines) {
		if match := source.FindStringSubmatch(line); match != nil {
			c := pulling(match[1], match[2], f.machine.auths)
			t.why = "CRI-O's pause image " + shortImage(match[1]) + " cannot be pulled: " + c.text
			t.remedy = "crio config 2>/dev/null | grep pause_image # hcp-node-agent join sets the release's\n" + c.remedy
			t.details, t.certain = inWords(line), true
			return true
		}
	}
	return false
}

// errorsAbout returns kubelet's log lines about one pod.
func errorsAbout(lines []string, pod *corev1.Pod) []string {
	var about []string
	for _, line := range lines {
		if strings.Contains(line, `pod="`+pod.Namespace+"/"+pod.Name+`"`) || (pod.UID != "" && strings.Contains(line, string(pod.UID))) {
			about = append(about, line)
		}
	}
	return about
}

// absent returns the first object that this pod needs and the cluster lacks.
// With optional, it considers only objects that the pod can start without.
func (t *podTrouble) absent(f facts, optional bool) (reference, bool) {
	for _, needed := range references(t.pod) {
		if needed.optional == optional && slices.Contains(f.absent, needed) {
			return needed, true
		}
	}
	return reference{}, false
}

func (t *podTrouble) missing(r reference) {
	t.certain = true
	t.why = r.String() + ", which it needs, does not exist"
	who, remedy := madeBy(r)
	if who != "" {
		t.why += "; " + who
	}
	t.remedy = remedy
}
