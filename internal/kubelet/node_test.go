package kubelet

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

const cniMessage = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?"

func TestExplainNode(t *testing.T) {
	node := func(status corev1.ConditionStatus, reason, message string, more ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{BootID: "this"},
			Conditions: append([]corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: reason, Message: message}}, more...),
		}}
	}
	oldBoot := node(corev1.ConditionTrue, "KubeletReady", "")
	oldBoot.Status.NodeInfo.BootID = "before"
	ovn := waitingPod("openshift-ovn-kubernetes", "ovnkube-node-x", "ImagePullBackOff", "back-off pulling image")
	ovn.Spec.HostNetwork = true
	other := waitingPod("a-namespace", "other", "ContainerCreating", "")

	tests := map[string]struct {
		node     *corev1.Node
		evidence evidence
		want     []string
		remedy   string
	}{
		"no Node":             {nil, evidence{errors: []string{"cannot reach the API"}}, []string{"has not registered Node worker-1 yet", "cannot reach the API"}, "journalctl -u kubelet -b"},
		"no Node, crio down":  {nil, evidence{units: []unitEvidence{{name: "crio.service", state: host.UnitState{Load: "loaded", Active: "failed", Sub: "failed", Result: "exit-code"}, said: []string{"no runtime"}}}}, []string{"crio.service does not run (failed, exit-code)", "no runtime"}, "journalctl -b -u crio.service"},
		"kubelet restarting":  {node("Unknown", "NodeStatusUnknown", ""), evidence{units: []unitEvidence{{name: "kubelet.service", state: host.UnitState{Active: "activating", Sub: "auto-restart", Result: "exit-code"}}}}, []string{"kubelet.service does not run (it ends soon after each start)"}, "journalctl -b -u kubelet.service"},
		"earlier boot":        {oldBoot, evidence{}, []string{"another boot (before, this one is this)"}, "journalctl -u kubelet -b"},
		"CNI, guilty pod":     {node("False", "KubeletNotReady", cniMessage), evidence{pods: []*corev1.Pod{other, ovn}}, []string{"has not written its configuration (/etc/kubernetes/cni/net.d is empty)", "not up: openshift-ovn-kubernetes/ovnkube-node-x (container main: ImagePullBackOff: back-off pulling image), a-namespace/other"}, "oc -n openshift-ovn-kubernetes describe pod ovnkube-node-x"},
		"CNI, no pods":        {node("False", "KubeletNotReady", cniMessage), evidence{}, []string{"no pod is assigned to this node yet"}, "oc get clusteroperator network; oc get daemonsets -A"},
		"CNI, file is there":  {node("False", "KubeletNotReady", cniMessage), evidence{cni: []string{"10.conflist"}, pods: []*corev1.Pod{ovn}}, []string{"the network plugin is not up; pods"}, "oc -n openshift-ovn-kubernetes describe pod ovnkube-node-x"},
		"another reason":      {node("False", "KubeletNotReady", "[PLEG is not healthy]"), evidence{}, []string{"KubeletNotReady: [PLEG is not healthy]"}, "journalctl -u kubelet -b"},
		"pressure comes with": {node("False", "KubeletNotReady", "x", corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: "True", Reason: "KubeletHasDiskPressure", Message: "full"}), evidence{}, []string{"DiskPressure (KubeletHasDiskPressure: full)"}, "journalctl -u kubelet -b"},
	}
	n := &Node{Name: "worker-1", BootID: "this", Machine: Machine{CNIDirectory: "/etc/kubernetes/cni/net.d"}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := n.explain(test.node, test.evidence)
			for _, want := range test.want {
				if !strings.Contains(got.text, want) {
					t.Errorf("text %q\nlacks %q", got.text, want)
				}
			}
			if got.remedy != test.remedy {
				t.Errorf("remedy = %q, want %q", got.remedy, test.remedy)
			}
		})
	}
}

func waitingPod(namespace, name, reason, message string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
		}},
	}
}

func TestWhyNotUp(t *testing.T) {
	yes := true
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}}
	}
	tests := map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"runs":               {corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "a", Ready: true, State: running}}}, ""},
		"ended well":         {corev1.PodStatus{Phase: "Succeeded"}, ""},
		"just assigned":      {corev1.PodStatus{Phase: "Pending"}, "not started yet"},
		"evicted":            {corev1.PodStatus{Phase: "Failed", Reason: "Evicted", Message: "disk"}, "Evicted: disk"},
		"not ready":          {corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: running}}}, "container a runs, but is not ready"},
		"crashed":            {corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: ended(3)}}}, "container a ended with status 3 (Error)"},
		"init failed":        {corev1.PodStatus{Phase: "Pending", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(1)}}}, "init container i ended with status 1 (Error)"},
		"init runs":          {corev1.PodStatus{Phase: "Pending", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: running}}}, "init container i is running"},
		"init done, sidecar": {corev1.PodStatus{Phase: "Running", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(0)}, {Name: "s", State: running, Started: &yes}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "a", Ready: true, State: running}}}, ""},
	}
	for name, test := range tests {
		if got := whyNotUp(&corev1.Pod{Status: test.status}); got != test.want {
			t.Errorf("%s: whyNotUp() = %q, want %q", name, got, test.want)
		}
	}
}

func TestKeepsPodsAway(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	tests := map[string]struct {
		spec corev1.NodeSpec
		want []string // one a finding
	}{
		"nothing":              {corev1.NodeSpec{}, nil},
		"only a preference":    {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "UpdateInProgress", Effect: "PreferNoSchedule"}}}, nil},
		"cordoned, said once":  {corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"}}}, []string{"oc adm uncordon worker-1"}},
		"cloud provider":       {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"}}}, []string{"oc adm taint node worker-1 node.cloudprovider.kubernetes.io/uninitialized-"}},
		"unknown, with time":   {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "team", Value: "blue", Effect: "NoExecute", TimeAdded: &since}}}, []string{"taint team=blue:NoExecute since 2026-01-02T03:04:05Z"}},
		"two":                  {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}, {Key: "a", Effect: "NoSchedule"}}}, []string{"within seconds of Ready", "oc adm taint node worker-1 a-"}},
		"update does keep off": {corev1.NodeSpec{Taints: []corev1.Taint{{Key: "UpdateInProgress", Effect: "NoSchedule"}}}, []string{"machine-config daemon"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := keepsPodsAway(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Spec: test.spec})
			if len(got) != len(test.want) {
				t.Fatalf("keepsPodsAway() = %v, want %d findings", got, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i].text+got[i].remedy, want) {
					t.Errorf("finding %+v lacks %q", got[i], want)
				}
			}
		})
	}
}

func TestKnownTaintsTellEverything(t *testing.T) {
	seen := map[string]bool{}
	for _, taint := range knownTaints() {
		if taint.key == "" || taint.story == "" || seen[taint.key] {
			t.Errorf("taint %q has no story, or two", taint.key)
		}
		seen[taint.key] = true
	}
}
