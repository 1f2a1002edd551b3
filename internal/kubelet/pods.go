package kubelet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
func (t *podTrouble) finding(severity Severity) Finding {
	f := Finding{
		Severity: severity, Text: "pod " + t.name() + " is not up: " + t.why, Remedy: t.command(), Details: t.details, passing: !t.certain,
	}
	if t.certain || t.pod.Spec.HostNetwork { // the others wait for the pod network
		f.about = "pod " + t.name()
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
			troubles = append(troubles, trouble)
		}
	}
	slices.SortStableFunc(troubles, func(a, b *podTrouble) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name(), b.name()))
	})
	return troubles
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
		t.remedy = "oc describe node " + t.pod.Spec.NodeName + "   shows what is allocated"
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

// notStarted is for a pod of which no container has a word to say: a volume or
// the sandbox is missing. Its status does not tell, so the cluster's objects
// and kubelet's journal are asked.
func (t *podTrouble) notStarted(f facts) {
	if r, absent := t.absent(f, false); absent {
		t.missing(r)
		return
	}
	lines := errorsAbout(f.machine.kubelet, t.pod)
	if t.pausing(lines, f) {
		return
	}
	if c, line, known := knownCause(lines, slices.Concat(surroundings(), runtimeCauses())); known {
		t.why, t.remedy, t.details, t.certain = "kubelet cannot start it: "+c.text, c.remedy, inWords(line), true
		return
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "network is not ready") })
	if len(lines) > 0 {
		t.why, t.details = "kubelet cannot start it: "+shorten(plain(lines[len(lines)-1]), brief), inWords(lines...)
		return
	}
	t.why = "it is being started"
	if !t.pod.Spec.HostNetwork && f.node != nil && networkMissing(f.node) {
		t.why = "it waits for the pod network"
	}
}

// pausing tells of a pause image that cannot be pulled. Without it no pod
// starts, and no status says so: a pod has no word for its sandbox.
func (t *podTrouble) pausing(lines []string, f facts) bool {
	source := regexp.MustCompile(`creating pod sandbox.*(?:initializing source|pinging).*docker://([^\s"]+?): (.*)`)
	for _, line := range slices.Backward(lines) {
		if match := source.FindStringSubmatch(line); match != nil {
			c := pulling(match[1], match[2], f.machine.auths)
			t.why = "CRI-O's pause image " + shortImage(match[1]) + " cannot be pulled: " + c.text
			t.remedy = "crio config 2>/dev/null | grep pause_image   (hcp-node-agent join sets the release's)\n" + c.remedy
			t.details, t.certain = inWords(line), true
			return true
		}
	}
	return false
}

// errorsAbout are kubelet's lines about one pod.
func errorsAbout(lines []string, pod *corev1.Pod) []string {
	var about []string
	for _, line := range lines {
		if strings.Contains(line, `pod="`+pod.Namespace+"/"+pod.Name+`"`) || (pod.UID != "" && strings.Contains(line, string(pod.UID))) {
			about = append(about, line)
		}
	}
	return about
}

// absent gives the first object that this pod needs and the cluster does not
// have; with optional, one that it can start without.
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
