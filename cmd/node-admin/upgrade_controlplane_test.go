// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

const rolloutPath = "/apis/hcp-node-agent.io/v1alpha1/noderollouts/workers"

// rollout returns the NodeRollout, nil if it does not exist.
func (h *hostedCluster) rollout(t *testing.T) *v1alpha1.NodeRollout {
	t.Helper()
	body, err := h.admin.Discovery().RESTClient().Get().AbsPath(rolloutPath).Do(t.Context()).Raw()
	if err != nil {
		return nil
	}
	object := &v1alpha1.NodeRollout{}
	if err := json.Unmarshal(body, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// setRolloutStatus writes the status of the NodeRollout as the controller does.
func (h *hostedCluster) setRolloutStatus(t *testing.T, status v1alpha1.NodeRolloutStatus) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.admin.Discovery().RESTClient().Patch("application/merge-patch+json").
		AbsPath(rolloutPath, "status").Body(body).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

func (h *hostedCluster) testUpgrade(t *testing.T) {
	h.enroll(t, "upgraded", nil)
	// Neither the state nor a setting nor a typing error starts an upgrade.
	for _, args := range [][]string{
		{"workers"},
		{"workers", "--stop"},
		{"workers", "--output", "json"},
		{"workers", "--pause"},
		{"workers", "--max-unavailable", "10%"},
		{"wokers"},
		{"wokers", "--start"},
		{"worker-1.example.com", "--start"},
	} {
		isShown := args[0] == "workers" && (len(args) == 1 || args[1] == "--stop")
		got := h.exec(t, append([]string{"upgrade"}, args...)...)
		if want := map[bool]report.Code{true: report.Success, false: report.Usage}[isShown]; got.Code != want {
			t.Errorf("%q: %+v", args, got)
		}
		if shown := got.Out; isShown &&
			!strings.HasPrefix(shown, "NodePool workers has no NodeRollout: its nodes are upgraded by hand\n") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	body, err := h.admin.Discovery().RESTClient().Get().AbsPath("/apis/hcp-node-agent.io/v1alpha1/noderollouts").
		Do(t.Context()).Raw()
	if err != nil || strings.Contains(string(body), `"name"`) {
		t.Fatalf("a NodeRollout exists: %s, %v", body, err)
	}
	got := runCommandLine(t, "upgrade", "workers", "--kubeconfig", kubetest.Plane.Kubeconfig)
	want := "upgrade workers --start --kubeconfig " + kubetest.Plane.Kubeconfig + "\n"
	if !strings.Contains(got.Out, want) {
		t.Errorf("how it is started: %+v", got)
	}
	if got := h.exec(t, "upgrade", "workers", "--start"); got.Code != report.Success || got.Out !=
		"the controller has not reported about NodePool workers yet\nlimits:  max-unavailable 1, max-failures 0\n\n"+
			"hcp-node-admin upgrade workers # again, when the controller has reported\n" {
		t.Errorf("new: %+v", got)
	}
	h.testRolloutSpec(t)
	h.testRolloutStatus(t)
	h.createNamespace(t)
	h.grant(t, "upgrader", upgradePermissions())
	h.await(t, "upgrader", "upgrade", "workers", "--pause")
	h.await(t, "upgrader", "upgrade", "workers", "--retry", "worker-1")
	for _, want := range []string{
		"the nodes of NodePool workers are upgraded by hand again\n",
		"NodePool workers has no NodeRollout: its nodes are upgraded by hand\n",
	} {
		if got := h.await(t, "upgrader", "upgrade", "workers", "--stop"); got.Out != want || h.rollout(t) != nil {
			t.Errorf("--stop: %+v", got)
		}
	}
	h.await(t, "upgrader", "upgrade", "workers", "--start")
	h.await(t, "upgrader", "upgrade", "workers", "--stop")
	if got := h.exec(t, "upgrade", "workers", "--retry", "worker-1"); got.Code != report.Usage ||
		!strings.Contains(got.Err, "NodePool workers has no NodeRollout") {
		t.Errorf("--retry without a NodeRollout: %+v", got)
	}
}

// testRolloutSpec changes one setting after the other; each leaves the others.
func (h *hostedCluster) testRolloutSpec(t *testing.T) {
	window := &v1alpha1.MaintenanceWindow{
		Schedule: "0 1 * * SAT", Duration: metav1.Duration{Duration: 4 * time.Hour}, TimeZone: "Europe/Prague",
	}
	want := v1alpha1.NodeRolloutSpec{}
	for _, step := range []struct {
		args   []string
		change func()
	}{
		{[]string{"--max-unavailable", "10%"}, func() { want.MaxUnavailable = ptr.To(intstr.FromString("10%")) }},
		{[]string{"--pause"}, func() { want.Paused = true }},
		{
			[]string{"--window", "0 1 * * SAT", "--window-duration", "4h", "--time-zone", "Europe/Prague"},
			func() { want.Window = window },
		},
		{[]string{"--canary", "site=a"}, func() {
			want.Canary = &metav1.LabelSelector{MatchLabels: map[string]string{"site": "a"}}
		}},
		{[]string{"--max-failures", "2", "--slot-timeout", "90m"}, func() {
			want.MaxFailures, want.SlotTimeout = 2, &metav1.Duration{Duration: 90 * time.Minute}
		}},
		{nil, func() {}},
		{[]string{"--resume", "--window", "", "--canary", "", "--max-unavailable", "3", "--slot-timeout", "0"}, func() {
			want = v1alpha1.NodeRolloutSpec{MaxUnavailable: ptr.To(intstr.FromInt32(3)), MaxFailures: 2}
		}},
	} {
		step.change()
		if got := h.exec(t, append([]string{"upgrade", "workers"}, step.args...)...); got.Code != report.Success {
			t.Errorf("%q: %+v", step.args, got)
		}
		if diff := cmp.Diff(want, h.rollout(t).Spec); diff != "" {
			t.Errorf("%q: spec (-want +got):\n%s", step.args, diff)
		}
	}
	before := h.rollout(t).ResourceVersion
	for _, args := range [][]string{
		{"--max-unavailable", "0"},
		{"--max-unavailable", "many"},
		{"--max-failures", "-1"},
		{"--canary", "a in"},
		{"--window", "0 1 * *", "--window-duration", "4h"},
		{"--window", "0 1 * * SAT"},
		{"--time-zone", "UTC"},
		{"--window", "0 1 * * SAT", "--window-duration", "4h", "--time-zone", "Nowhere/City"},
		{"--pause", "--resume"},
		{"--retry", "worker-9"},
		{"--end-slot", "worker-9"},
	} {
		if got := h.exec(t, append([]string{"upgrade", "workers"}, args...)...); got.Code != report.Usage {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if h.rollout(t).ResourceVersion != before {
		t.Error("a refused command has changed the NodeRollout")
	}
}

func (h *hostedCluster) testRolloutStatus(t *testing.T) {
	given := metav1.NewMicroTime(time.Now().Add(-10 * time.Minute))
	h.setRolloutStatus(t, v1alpha1.NodeRolloutStatus{
		Config: "844282c1", Release: "4.21.3", Nodes: 4, Updated: 1, Unavailable: 1, Failed: 2,
		Waiting: "the window is closed",
		Slots:   []v1alpha1.UpgradeSlot{{Node: "worker-3", Config: "844282c1", Given: given}},
		Failures: []v1alpha1.UpgradeFailure{
			{Node: "worker-1", Config: "844282c1", Reason: "no space \x1b[2J", At: metav1.NowMicro()},
			{Node: "worker-2", Config: "844282c1", Reason: "no network", At: metav1.NowMicro()},
		},
	})
	if got := h.exec(t, "upgrade", "workers", "--pause", "--canary", "site=a", "--window", "0 1 * * SAT",
		"--window-duration", "4h", "--slot-timeout", "90m"); got.Code != report.Success {
		t.Error(got)
	}
	got := h.exec(t, "upgrade", "workers")
	for _, want := range []string{
		"paused by the NodeRollout: no upgrade begins before --resume; 1 upgrade in progress is completed\n" +
			"NodePool workers: release 4.21.3, configuration 844282c1\n" +
			"nodes:   4: 1 updated, 1 in progress, 0 waiting, 2 failed; 1 unavailable\n" +
			"window:  ", " (0 1 * * SAT, UTC, for 4h)\ncanary:  site=a first; 0 of 0 updated\n" +
			"limits:  max-unavailable 3, max-failures 2, slot-timeout 1h30m\nwaiting: the window is closed\n" +
			"worker-3 in progress since ", " (10m)\nworker-1 failed: no space \\x1b[2J\nworker-2 failed: no network\n\n" +
			"# when the cause is removed:\nhcp-node-admin upgrade workers --retry worker-1\n",
	} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("%q is not printed:\n%s", want, got.Out)
		}
	}
	if got := h.exec(t, "upgrade", "workers", "--pause"); !strings.HasPrefix(got.Out, "paused by you: ") {
		t.Errorf("--pause: %+v", got)
	}
	if got := h.exec(t, "upgrade", "workers", "--output", "name"); got.Out != "noderollout.hcp-node-agent.io/workers\n" {
		t.Errorf("--output name: %+v", got)
	}
	got = h.exec(t, "upgrade", "workers", "--retry", "worker-2", "--end-slot", "worker-3")
	if got.Code != report.Success {
		t.Errorf("--retry and --end-slot: %+v", got)
	}
	after := h.rollout(t)
	retries := []v1alpha1.UpgradeRetry{{Node: "worker-2", FailedAt: after.Status.Failures[1].At}}
	ended := []v1alpha1.EndedSlot{{Node: "worker-3", Given: after.Status.Slots[0].Given}}
	if diff := cmp.Diff(retries, after.Spec.Retries) + cmp.Diff(ended, after.Spec.EndedSlots); diff != "" {
		t.Errorf("the specification (-want +got):\n%s", diff)
	}
}
