// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// createNamespace creates a namespace like those of OpenShift. Several tests can
// create it.
func createNamespace(t *testing.T, name string) {
	t.Helper()
	_, err := kubetest.AdminClient(t).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// createPod creates a pod on the node, with a status as kubelet would report it.
func createPod(
	t *testing.T, node, space, name string, spec corev1.PodSpec, status corev1.PodStatus,
) *corev1.Pod {
	t.Helper()
	createNamespace(t, space)
	no := false
	spec.NodeName, spec.AutomountServiceAccountToken = node, &no
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: "main", Image: "quay.io/a/b:1"}}
	}
	pods := kubetest.AdminClient(t).CoreV1().Pods(space)
	pod, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return setPodStatus(t, pod, status)
}

func setPodStatus(t *testing.T, pod *corev1.Pod, status corev1.PodStatus) *corev1.Pod {
	t.Helper()
	pod.Status = status
	updated, err := kubetest.AdminClient(t).CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod,
		metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return updated
}

func waitingStatus(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  "main",
		Image: "quay.io/a/b:1",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

// findingTexts returns each finding as one string.
func findingTexts(t *testing.T, node *Node) []string {
	t.Helper()
	findings, err := node.Findings(waittest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range findings {
		all = append(all, string(f.Severity)+" "+f.Message+" | "+string(f.Remedy))
	}
	return all
}

func untilNoFinding(t *testing.T, node *Node) {
	t.Helper()
	waittest.Until(t, "waiting until there is no finding about the Node", func() (any, bool) {
		seen := findingTexts(t, node)
		return seen, len(seen) == 0
	})
}

// setNodeCondition adds a condition to the status that kubelet has reported.
func setNodeCondition(t *testing.T, node *Node, kind corev1.NodeConditionType) {
	t.Helper()
	now := metav1.Now()
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type:               kind,
		Status:             corev1.ConditionTrue,
		Reason:             "KubeletHas" + string(kind),
		Message:            "for the test",
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubetest.AdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.StrategicMergePatchType,
		patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func TestControlPlaneFindings(t *testing.T) {
	node, _ := joinedNode(t, "findings")
	cni := "the network plugin has not written its configuration yet (" + node.Host.CNIDirectory + " is empty)"
	check := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, findingTexts(t, node)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("no Node", "problem kubelet has not registered Node findings yet | journalctl -u kubelet -b")

	kubetest.CreateNode(t, node.Conn, node.Name)
	reportReady(t, node, corev1.ConditionTrue, "")
	untilNoFinding(t, node)

	reportReady(t, node, corev1.ConditionFalse, "PLEG is not healthy: pleg has yet to be successful")
	got := findingTexts(t, node)
	if len(got) == 0 ||
		got[0] != "problem CRI-O does not respond to kubelet's requests about its containers (PLEG is not "+
			"healthy): CRI-O hangs, or the disk is too slow | crictl ps; journalctl -b -u crio; vmstat 1 3" {
		t.Errorf("PLEG: %q", got)
	}

	reportReady(t, node, corev1.ConditionUnknown, "Kubelet stopped posting node status.")
	if got := findingTexts(t, node); !strings.HasPrefix(got[0], "problem kubelet has not reported its status since 20") ||
		!strings.HasSuffix(got[0], "Z (ForTest) | journalctl -u kubelet -b") {
		t.Errorf("unknown: %q", got)
	}

	setNodeCondition(t, node, corev1.NodePIDPressure)
	waittest.Until(t, "waiting for pressure and its taint", func() (any, bool) {
		all := strings.Join(findingTexts(t, node), "\n")
		return all, strings.Contains(all, "problem kubelet evicts pods because the node is running out of process IDs: ") &&
			strings.Contains(all, "problem taint node.kubernetes.io/pid-pressure:NoSchedule since ")
	})

	reportReady(t, node, corev1.ConditionFalse, cniMessage)
	if got := findingTexts(t, node); !strings.HasPrefix(got[0], "problem "+cni+"; no pod is assigned to this node "+
		"yet | oc get clusteroperator network") {
		t.Errorf("no pods: %q", got)
	}
	createPod(t, node.Name, "openshift-ovn-kubernetes", "findings-puller", corev1.PodSpec{HostNetwork: true},
		waitingStatus("ErrImagePull", "reading manifest 1 in quay.io/a/b: manifest unknown"))
	if got := findingTexts(t, node); got[0] != "problem "+cni+"; pod openshift-ovn-kubernetes/findings-puller is not "+
		"ready: image quay.io/a/b:1 cannot be pulled: quay.io does not have it | crictl pull quay.io/a/b:1" {
		t.Errorf("pull: %q", got[0])
	}
}

func TestControlPlaneTaints(t *testing.T) {
	node, recorded := joinedNode(t, "tainted")
	kubetest.CreateNode(t, node.Conn, node.Name)
	reportReady(t, node, corev1.ConditionTrue, "")
	untilNoFinding(t, node)
	patch := func(taints string) {
		t.Helper()
		_, err := kubetest.AdminClient(t).CoreV1().Nodes().Patch(t.Context(), node.Name, types.MergePatchType,
			[]byte(`{"spec":{"taints":`+taints+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	// The taints of a Ready node in a field report.
	patch(
		`[{"key":"UpdateInProgress","effect":"PreferNoSchedule"},` +
			`{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"}]`,
	)
	err := node.WaitSchedulable(recorded.DeadlineAt(t, "waiting for Node tainted to become schedulable"))
	const want = "Node tainted is not schedulable: taint " +
		"node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule: kubelet sets it when it runs with " +
		"--cloud-provider=external, and a cloud controller manager removes it; platform None has no cloud controller " +
		"manager: the payload belongs to a NodePool or cluster of another platform"
	if err == nil || err.Error() != want || !strings.HasSuffix(string(report.RemedyOf(err)), "oc adm taint node tainted "+
		"node.cloudprovider.kubernetes.io/uninitialized-") {
		t.Errorf("WaitSchedulable() = %v (%s)\nwant %s", err, report.RemedyOf(err), want)
	}
	for _, known := range knownTaints() {
		key := strings.Replace(known.key, "*", "x", 1)
		patch(`[{"key":"` + key + `","effect":"NoSchedule"}]`)
		var got []string
		// The node lifecycle controller removes its own taints if they do not apply.
		waittest.Until(t, "waiting for the finding about taint "+key, func() (any, bool) {
			got = findingTexts(t, node)
			return got, len(got) == 1 || (len(got) == 0 && strings.HasPrefix(key, "node.kubernetes.io/"))
		})
		if len(got) == 1 && !strings.HasPrefix(got[0], "problem taint "+key+":NoSchedule") {
			t.Errorf("taint %s: %q", key, got)
		}
	}
	patch(`[{"key":"UpdateInProgress","effect":"PreferNoSchedule"}]`)
	if err := node.WaitSchedulable(waittest.Context(t)); err != nil {
		t.Errorf("WaitSchedulable() = %v with a taint that only prefers other nodes", err)
	}
}

// A join that is stuck logs the cause: these are all messages, from the start
// to Ready.
func TestControlPlaneStuckJoinReportsCauses(t *testing.T) {
	node, recorded := joinedNode(t, "stuck")
	node.quietPeriod = 0 // log every message immediately
	face := &strings.Builder{}
	node.Log = report.Log{Sink: report.Sinks{recorded, &report.Lines{W: face}}, Step: "ready"}
	done := make(chan error)
	go func() { done <- node.WaitReady(waittest.Context(t)) }()
	expectLog := func(text string) {
		t.Helper()
		waittest.UntilText(t, text, recorded.Text)
	}
	expectLog("waiting for kubelet to register Node stuck")
	kubetest.CreateNode(t, node.Conn, node.Name,
		corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule})
	reportReady(t, node, corev1.ConditionFalse, cniMessage)
	expectLog("; no pod is assigned to this node yet")

	plugin := createPod(t, node.Name, "openshift-ovn-kubernetes", "stuck-ovn", corev1.PodSpec{HostNetwork: true},
		waitingStatus("CreateContainerConfigError", `secret "stuck-metrics-cert" not found`))
	createPod(t, node.Name, "openshift-multus", "stuck-multus", corev1.PodSpec{HostNetwork: true},
		waitingStatus("ImagePullBackOff",
			`Back-off pulling image "quay.io/a/b:1": ErrImagePull: initializing source docker://quay.io/a/b:1: `+
				`reading `+
				`manifest 1 in quay.io/a/b: unauthorized: access to the requested resource is not authorized`))
	createPod(t, node.Name, "openshift-dns", "stuck-dns", corev1.PodSpec{}, waitingStatus("ContainerCreating", ""))
	expectLog("pod openshift-ovn-kubernetes/stuck-ovn is not ready: " +
		"Secret openshift-ovn-kubernetes/stuck-metrics-cert, which it requires, does not exist")

	setPodStatus(t, plugin, waitingStatus("ContainerCreating", ""))
	expectLog(
		" is empty); pod openshift-multus/stuck-multus is not ready: image quay.io/a/b:1 cannot be pulled: quay.io rejects " +
			"this node's pull secret",
	)
	if err := os.WriteFile(filepath.Join(node.Host.CNIDirectory, "10-ovn.conf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expectLog(
		"waiting for Node stuck to become Ready: the network plugin is not running; pod openshift-multus/stuck-multus",
	)
	reportReady(t, node, corev1.ConditionTrue, "")
	if err := <-done; err != nil {
		t.Fatalf("WaitReady() = %v", err)
	}

	node.Log.Step = "schedulable"
	err := node.WaitSchedulable(recorded.DeadlineAt(t, "waiting for Node stuck to become schedulable"))
	const want = "Node stuck is not schedulable: taint team=blue:NoSchedule: not a taint that Kubernetes or OpenShift " +
		"sets automatically; an administrator, an operator or the NodePool set it and must remove it (set at an unknown time)"
	if err == nil || err.Error() != want ||
		report.RemedyOf(err) != "oc adm taint node stuck team- # if nothing requires the taint" {
		t.Errorf("WaitSchedulable() = %v (%s)\nwant %s", err, report.RemedyOf(err), want)
	}
	t.Logf("a stuck join:\n%s", face)
}
