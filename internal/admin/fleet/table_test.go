// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// startFleet starts a cluster with the NodeEnrollments a to c, and the Nodes c and d.
func startFleet(t *testing.T) *hostedCluster {
	t.Helper()
	h := startHostedCluster(t, apitest.Enrollments)
	for name, phase := range map[string]v1alpha1.Phase{
		"a": v1alpha1.PhasePending, "b": v1alpha1.PhaseFailed, "c": v1alpha1.PhaseReady,
	} {
		object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.NodePool, object.Status.Phase = "workers", phase
		if name == "b" {
			object.Labels, object.Spec.NodePool = map[string]string{"site": "x"}, "gpu"
		}
		h.Set(t, object)
	}
	for _, name := range []string{"c", "d"} {
		h.Set(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return h
}

func TestListNodes(t *testing.T) {
	h := startFleet(t)
	for name, test := range map[string]struct {
		selected Selection
		want     string
		missing  string
	}{
		"all":              {Selection{}, "[a Pending] [b Failed] [c Ready]", ""},
		"names":            {Selection{Names: []string{"c", "x", "a", "c", "x"}}, "[a Pending] [c Ready]", "for x"},
		"label":            {Selection{Labels: "site=x"}, "[b Failed]", ""},
		"other label":      {Selection{Labels: "site=y"}, "", ""},
		"NodePool":         {Selection{NodePool: "workers"}, "[a Pending] [c Ready]", ""},
		"phases":           {Selection{Phases: []string{"Ready", "Failed"}}, "[b Failed] [c Ready]", ""},
		"name and phase":   {Selection{Names: []string{"a", "b"}, Phases: []string{"Failed"}}, "[b Failed]", ""},
		"name of no phase": {Selection{Names: []string{"a"}, Phases: []string{"Failed"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, err := h.client.ListNodes(t.Context(), test.selected)
			if test.missing != "" {
				reporttest.CheckFailure(t, err, report.Usage, "no NodeEnrollment exists "+test.missing)
			} else if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, row := range nodes.Table.Rows {
				rows = append(rows, fmt.Sprint(row.Cells))
			}
			if strings.Join(rows, " ") != test.want || len(rows) != len(nodes.Objects) {
				t.Errorf("%v; want %s", rows, test.want)
			}
		})
	}
}

func TestCount(t *testing.T) {
	nodes := &Nodes{}
	for _, phase := range []v1alpha1.Phase{"Ready", "Lost", "Ready", "", "Pending", "Ready"} {
		object := &v1alpha1.NodeEnrollment{}
		object.Status.Phase = phase
		nodes.Objects = append(nodes.Objects, object)
	}
	if got, want := nodes.count(), "3 Ready, 1 Lost, 1 Pending, 1 without a phase"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// setPhase changes the phase of a node.
func (h *hostedCluster) setPhase(t *testing.T, name string, phase v1alpha1.Phase) {
	t.Helper()
	object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	h.Get(t, object)
	object.Status.Phase = phase
	h.Set(t, object)
}

// atList makes functions run before the lists of NodeEnrollments, one each. A function can fail the list.
func (h *hostedCluster) atList(do ...func() error) {
	h.Before = func(request *http.Request) error {
		if !strings.HasSuffix(request.URL.Path, "/nodeenrollments") || len(do) == 0 {
			return nil
		}
		next := do[0]
		do = do[1:]
		return next()
	}
}

func TestWait(t *testing.T) {
	h := startFleet(t)
	recorded := &reporttest.Recorder{}
	wait := func(ctx context.Context, selected Selection) (*Nodes, error) {
		return h.client.Wait(ctx, recorded.Log(), selected, time.Millisecond, "Ready")
	}
	h.atList(
		func() error { return nil },
		func() error { return apierrors.NewServiceUnavailable("restarting") },
		func() error { h.setPhase(t, "a", v1alpha1.PhaseReady); return nil },
		func() error { h.setPhase(t, "b", v1alpha1.PhaseReady); return nil },
	)
	nodes, err := wait(waittest.Context(t), Selection{})
	if err != nil || nodes.count() != "3 Ready" {
		t.Fatalf("%+v, %v", nodes, err)
	}
	for _, want := range []string{
		"waiting until 3 nodes are Ready: 1 Failed, 1 Pending, 1 Ready", "restarting",
		"waiting until 3 nodes are Ready: 2 Ready, 1 Failed",
	} {
		if !strings.Contains(recorded.Text(), want) {
			t.Errorf("%q is not logged: %s", want, recorded.Text())
		}
	}
	h.setPhase(t, "b", v1alpha1.PhaseLost)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	h.atList(func() error { return nil })
	_, err = wait(ctx, Selection{})
	reporttest.CheckFailure(t, err, report.Failed, "timed out waiting")
	_, err = wait(waittest.Context(t), Selection{NodePool: "none"})
	reporttest.CheckFailure(t, err, report.Usage, "no NodeEnrollment was found")
	_, err = wait(waittest.Context(t), Selection{Names: []string{"a", "x"}})
	reporttest.CheckFailure(t, err, report.Usage, "no NodeEnrollment exists for x")
}

func TestWaitReportsWhoIsMissing(t *testing.T) {
	nodes := &Nodes{}
	for name, phase := range map[string]v1alpha1.Phase{"a": "Ready", "b": "Lost"} {
		object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Status.Phase = phase
		nodes.Objects = append(nodes.Objects, object)
	}
	expired, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	err := nodes.waitError(expired, "Ready")
	reporttest.CheckFailure(t, err, report.Failed, "timed out waiting until 2 nodes are Ready (1 Lost, 1 Ready): b")
	if remedy := report.RemedyOf(err).Command(); remedy != "hcp-node-admin describe b" {
		t.Errorf("remedy %q", remedy)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := nodes.waitError(stopped, "Ready"); report.CodeOf(err) != report.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
}

// Only changed nodes are printed again.
func TestWatch(t *testing.T) {
	h := startFleet(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h.atList(
		func() error { return nil },
		func() error { return apierrors.NewServiceUnavailable("restarting") },
		func() error { h.setPhase(t, "b", v1alpha1.PhaseReady); return nil },
		func() error { stop(); return nil },
	)
	var printed []string
	recorded := &reporttest.Recorder{}
	err := h.client.Watch(ctx, recorded.Log(), Selection{}, time.Millisecond, func(nodes *Nodes) error {
		for _, row := range nodes.Table.Rows {
			printed = append(printed, fmt.Sprint(row.Cells))
		}
		return nil
	})
	if want := "[a Pending] [b Failed] [c Ready] [b Ready]"; strings.Join(printed, " ") != want || err == nil {
		t.Errorf("%v, %v; want %s", printed, err, want)
	}
	if !strings.Contains(recorded.Text(), "waiting for the API server: ") {
		t.Errorf("logged: %s", recorded.Text())
	}
}

func TestNames(t *testing.T) {
	h := startFleet(t)
	nodes, err := h.client.ListNodes(t.Context(), Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for want, get := range map[string]func() ([]string, error){
		"[d]":           func() ([]string, error) { return h.client.withoutEnrollment(t.Context(), nodes.Objects) },
		"[a b c]":       func() ([]string, error) { return h.client.NodeNames(t.Context()) },
		"[gpu workers]": func() ([]string, error) { return h.client.NodePools(t.Context()) },
	} {
		if got, err := get(); fmt.Sprint(got) != want || err != nil {
			t.Errorf("%v, %v; want %s", got, err, want)
		}
	}
	h.Before = apitest.Reject(http.MethodGet, "/nodeenrollments", apitest.Forbidden())
	if got, err := h.client.NodeNames(t.Context()); fmt.Sprint(got) != "[c d]" || err != nil {
		t.Errorf("without the permission for NodeEnrollments: %v, %v", got, err)
	}
}
