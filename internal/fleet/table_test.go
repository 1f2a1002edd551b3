// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
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

func TestList(t *testing.T) {
	h := startFleet(t)
	for name, test := range map[string]struct {
		selected Selection
		want     string
		missing  string
	}{
		"all":              {Selection{}, "[a Pending] [b Failed] [c Ready]", ""},
		"names":            {Selection{Names: []string{"c", "x", "a", "c", "x"}}, "[a Pending] [c Ready]", "x"},
		"label":            {Selection{Labels: "site=x"}, "[b Failed]", ""},
		"other label":      {Selection{Labels: "site=y"}, "", ""},
		"NodePool":         {Selection{NodePool: "workers"}, "[a Pending] [c Ready]", ""},
		"phases":           {Selection{Phases: []string{"Ready", "Failed"}}, "[b Failed] [c Ready]", ""},
		"name and phase":   {Selection{Names: []string{"a", "b"}, Phases: []string{"Failed"}}, "[b Failed]", ""},
		"name of no phase": {Selection{Names: []string{"a"}, Phases: []string{"Failed"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			table, missing, err := h.client.List(t.Context(), test.selected)
			var rows []string
			for _, row := range table.Printable(time.Now(), false).Rows {
				rows = append(rows, fmt.Sprint(row.Cells))
			}
			if err != nil || strings.Join(rows, " ") != test.want || strings.Join(missing, " ") != test.missing {
				t.Errorf("%v: %v, missing %v; want %s", err, rows, missing, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	h := startFleet(t)
	table, _, err := h.client.List(t.Context(), Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for want, get := range map[string]func() ([]string, error){
		"[d]":           func() ([]string, error) { return h.client.WithoutEnrollment(t.Context(), table.Rows) },
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
