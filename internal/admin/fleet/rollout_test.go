// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// rollout returns the NodeRollout of NodePool workers, nil if it does not exist.
func (h *hostedCluster) rollout(t *testing.T) *v1alpha1.NodeRollout {
	t.Helper()
	object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	if !h.Get(t, object) {
		return nil
	}
	return object
}

// enroll creates the NodeEnrollment of a node of NodePool workers.
func (h *hostedCluster) enroll(t *testing.T, name string) {
	t.Helper()
	object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	object.Spec.NodePool = "workers"
	h.Set(t, object)
}

// Each change keeps the other settings, and also a change of another client meanwhile.
func TestChangeRollout(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	h.enroll(t, "a")
	change := func(change func(*v1alpha1.NodeRolloutSpec)) {
		t.Helper()
		if _, err := h.client.ChangeRollout(t.Context(), "workers", true, change); err != nil {
			t.Fatal(err)
		}
	}
	change(func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = true })
	change(func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxFailures = 2 })
	before := h.rollout(t)
	change(func(*v1alpha1.NodeRolloutSpec) {})
	if after := h.rollout(t); !after.Spec.Paused || after.Spec.MaxFailures != 2 ||
		after.ResourceVersion != before.ResourceVersion {
		t.Errorf("%+v, before the last change %+v", after, before)
	}
	tries := 0
	change(func(spec *v1alpha1.NodeRolloutSpec) {
		if tries++; tries == 1 {
			other := h.rollout(t)
			other.Spec.MaxFailures = 3
			h.Set(t, other)
		}
		spec.Paused = false
	})
	if after := h.rollout(t); after.Spec.Paused || after.Spec.MaxFailures != 3 {
		t.Errorf("with a change of another client: %+v", after.Spec)
	}
}

func TestRelease(t *testing.T) {
	slot := v1alpha1.UpgradeSlot{Node: "c", Config: "22", Given: metav1.NewMicroTime(now)}
	failure := func(node string) v1alpha1.UpgradeFailure {
		return v1alpha1.UpgradeFailure{Node: node, Config: "22", At: metav1.NewMicroTime(now)}
	}
	former := v1alpha1.UpgradeRetry{Node: "b", FailedAt: metav1.NewMicroTime(now.Add(-time.Hour))}
	for name, test := range map[string]struct {
		retried, ended []string
		err            string
		remedy         report.Remedy
	}{
		"retried":           {retried: []string{"b"}},
		"retried again":     {retried: []string{"a"}},
		"ended":             {ended: []string{"c"}},
		"retried and ended": {retried: []string{"a", "b"}, ended: []string{"c"}},
		"not failed": {
			retried: []string{"a", "c"}, err: "no failed upgrade of node c is recorded",
			remedy: "hcp-node-admin upgrade workers # lists the failures",
		},
		"without a slot": {
			retried: []string{"a"}, ended: []string{"b"}, err: "node b has no slot",
			remedy: "hcp-node-admin upgrade workers # lists the slots",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t, apitest.Enrollments)
			object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
			object.Spec.Retries = []v1alpha1.UpgradeRetry{former}
			if name == "retried again" {
				object.Spec.Retries = append(object.Spec.Retries, v1alpha1.UpgradeRetry{Node: "a", FailedAt: failure("a").At})
			}
			object.Status.Slots = []v1alpha1.UpgradeSlot{slot}
			object.Status.Failures = []v1alpha1.UpgradeFailure{failure("a"), failure("b")}
			h.Set(t, object)
			before := h.rollout(t)
			err := h.client.Release(t.Context(), "workers", test.retried, test.ended)
			after := h.rollout(t)
			if test.err != "" {
				reporttest.CheckFailure(t, err, report.Usage, test.err)
				if diff := cmp.Diff(before, after); diff != "" || report.RemedyOf(err) != test.remedy {
					t.Errorf("remedy %q; changed (-before +after):\n%s", report.RemedyOf(err), diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var retried, ended []string
			for _, one := range after.Spec.Retries {
				retried = append(retried, one.Node+" "+one.FailedAt.UTC().String())
			}
			for _, one := range after.Spec.EndedSlots {
				ended = append(ended, one.Node+" "+one.Given.UTC().String())
			}
			at := lists.Map(slices.Concat(test.retried, test.ended), func(node string) string {
				return node + " " + now.UTC().String()
			})
			if diff := cmp.Diff(at, slices.Concat(retried, ended)); diff != "" {
				t.Errorf("of the specification (-want +got):\n%s", diff)
			}
		})
	}
}

// Only a NodePool that is known, by a node or by its user data, gets a NodeRollout, and only to start it.
func TestRolloutOfUnknownNodePool(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("published")},
	}
	h.enroll(t, "worker-1.example.com")
	h.Set(t, secret)
	keep := func(*v1alpha1.NodeRolloutSpec) {}
	const unknown = "no node of it is enrolled, and its user data is not published; NodePools with enrolled nodes: workers"
	for _, name := range []string{"wokers", "worker-1.example.com", "Workers"} {
		for what, do := range map[string]func() error{
			"show":  func() error { _, err := h.client.Rollout(t.Context(), name); return err },
			"start": func() error { _, err := h.client.ChangeRollout(t.Context(), name, true, keep); return err },
			"stop":  func() error { _, err := h.client.StopRollout(t.Context(), name); return err },
			"retry": func() error { return h.client.Release(t.Context(), name, []string{"a"}, nil) },
		} {
			t.Run(what+" "+name, func(t *testing.T) { reporttest.CheckFailure(t, do(), report.Usage, unknown) })
		}
	}
	if object, err := h.client.Rollout(t.Context(), "workers"); object != nil || err != nil {
		t.Errorf("without a NodeRollout: %+v, %v", object, err)
	}
	_, err := h.client.ChangeRollout(t.Context(), "workers", false, keep)
	reporttest.CheckFailure(t, err, report.Usage, "NodePool workers has no NodeRollout")
	if h.rollout(t) != nil {
		t.Error("a setting has started a rollout")
	}
	if _, err := h.client.ChangeRollout(t.Context(), "published", true, keep); err != nil {
		t.Error(err)
	}
}

func TestStopRollout(t *testing.T) {
	h := startHostedCluster(t, apitest.Enrollments)
	h.enroll(t, "a")
	reporttest.CheckFailure(t, h.client.Release(t.Context(), "workers", []string{"a"}, nil), report.Usage,
		"NodePool workers has no NodeRollout")
	h.Set(t, &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "workers"}})
	for _, want := range []bool{true, false} {
		if existed, err := h.client.StopRollout(t.Context(), "workers"); existed != want || err != nil {
			t.Errorf("%t, %v; want %t", existed, err, want)
		}
	}
	h.Before = apitest.Reject(http.MethodPost, "/noderollouts", apitest.Forbidden())
	_, err := h.client.ChangeRollout(t.Context(), "workers", true, func(*v1alpha1.NodeRolloutSpec) {})
	reporttest.CheckFailure(t, err, report.CredentialRefused, "creating NodeRollout workers on the hosted cluster ")
}
