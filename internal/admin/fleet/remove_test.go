// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// hostedCluster is a hosted cluster.
type hostedCluster struct {
	*apitest.Server

	client Client
}

func startHostedCluster(t *testing.T, installed ...string) *hostedCluster {
	t.Helper()
	h := &hostedCluster{Server: apitest.Start(t, installed...)}
	opened, err := cluster.Open(cluster.Hosted, h.Config())
	if err != nil {
		t.Fatal(err)
	}
	h.client = Client{Cluster: opened}
	return h
}

// join creates all objects of a node.
func (h *hostedCluster) join(t *testing.T, node string, ready corev1.ConditionStatus) {
	t.Helper()
	h.Set(t, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: node}},
		&corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount(node)},
		})
	h.setReady(t, node, ready)
}

// setReady creates or changes a Node.
func (h *hostedCluster) setReady(t *testing.T, name string, status corev1.ConditionStatus) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	h.Get(t, node) // it can be new
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	h.Set(t, node)
}

// atDeletion makes a function run before the first request that deletes a path with a suffix.
func (h *hostedCluster) atDeletion(suffix string, do func()) {
	h.Before = func(request *http.Request) error {
		if request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, suffix) && do != nil {
			do()
			do = nil
		}
		return nil
	}
}

func (h *hostedCluster) remove(t *testing.T, force bool, nodes ...string) (deleted string, err error) {
	t.Helper()
	var all []string
	removals, err := h.client.Remove(t.Context(), nodes, force, func(kind, node string) {
		all = append(all, kind+"/"+node)
	})
	count := 0
	for _, removal := range removals {
		count += len(removal.Deleted)
	}
	if count != len(all) {
		t.Errorf("reported are %v, returned %v", all, removals)
	}
	return strings.Join(all, " "), err
}

func TestRemove(t *testing.T) {
	const both = "NodeEnrollment/a ServiceAccount/a Node/a NodeEnrollment/b ServiceAccount/b Node/b"
	for name, test := range map[string]struct {
		status corev1.ConditionStatus // of node b
		nodes  string
		force  bool
		want   string
		err    string
	}{
		"not Ready": {corev1.ConditionUnknown, "a b a", false, both, ""},
		"one of two is Ready": {
			corev1.ConditionTrue, "a b", false, "", "Node b is Ready, and may run pods; --force removes it nevertheless",
		},
		"force":   {corev1.ConditionTrue, "a b", true, both, ""},
		"unknown": {corev1.ConditionUnknown, "c", false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t, apitest.Enrollments)
			h.join(t, "a", corev1.ConditionFalse)
			h.join(t, "b", test.status)
			before := len(h.Names())
			deleted, err := h.remove(t, test.force, strings.Fields(test.nodes)...)
			if test.err != "" {
				reporttest.CheckFailure(t, err, report.Refused, test.err)
			} else if err != nil {
				t.Error(err)
			}
			if deleted != test.want || len(h.Names()) != before-len(strings.Fields(deleted)) {
				t.Errorf("deleted %q, want %q; left %v", deleted, test.want, h.Names())
			}
		})
	}
}

// An object that another client has replaced or changed since it was read is deleted only if that is safe.
func TestRemoveOfChangedObjects(t *testing.T) {
	for name, test := range map[string]struct {
		suffix string
		do     func(*testing.T, *hostedCluster)
		code   report.Code
		err    string
		left   []string
	}{
		"another NodeEnrollment": {
			"/nodeenrollments/a", func(t *testing.T, h *hostedCluster) {
				h.Set(t, &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			}, report.Failed, "the NodeEnrollment of a was replaced meanwhile, and is not deleted",
			[]string{"Node/a", "NodeEnrollment/a", "ServiceAccount/node-a"},
		},
		"another Node": {
			"/nodes/a", func(t *testing.T, h *hostedCluster) {
				h.Set(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			}, report.Failed, "the Node of a was replaced meanwhile, and is not deleted", []string{"Node/a"},
		},
		"a Node that has become Ready": {
			"/nodes/a", func(t *testing.T, h *hostedCluster) { h.setReady(t, "a", corev1.ConditionTrue) }, report.Refused,
			"Node a is Ready, and may run pods",
			[]string{"Node/a"},
		},
		"a Node that has changed": {
			"/nodes/a", func(t *testing.T, h *hostedCluster) { h.setReady(t, "a", corev1.ConditionUnknown) }, 0, "", nil,
		},
		"a Node that was deleted": {
			"/nodes/a", func(t *testing.T, h *hostedCluster) {
				h.Delete(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			}, 0, "", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHostedCluster(t, apitest.Enrollments)
			h.join(t, "a", corev1.ConditionFalse)
			h.atDeletion(test.suffix, func() { test.do(t, h) })
			_, err := h.remove(t, false, "a")
			if test.err != "" {
				reporttest.CheckFailure(t, err, test.code, test.err)
			} else if err != nil {
				t.Error(err)
			}
			if left := h.Names(); !slices.Equal(left, test.left) {
				t.Errorf("left are %v, want %v", left, test.left)
			}
		})
	}
}

// Failed requests state what failed. Package cluster explains them.
func TestFailures(t *testing.T) {
	for verb, run := range map[string]func(*testing.T, *hostedCluster) error{
		"listing NodeEnrollments": func(t *testing.T, h *hostedCluster) error {
			_, err := h.client.ListNodes(t.Context(), Selection{})
			return err
		},
		"getting NodeEnrollment a": func(t *testing.T, h *hostedCluster) error {
			_, err := h.client.Describe(t.Context(), "a")
			return err
		},
		"deleting NodeRollout workers": func(t *testing.T, h *hostedCluster) error {
			_, err := h.client.StopRollout(t.Context(), "workers")
			return err
		},
	} {
		t.Run(verb, func(t *testing.T) {
			h := startHostedCluster(t, apitest.Enrollments)
			h.Before = func(*http.Request) error { return apitest.Forbidden() }
			reporttest.CheckFailure(t, run(t, h), report.CredentialRefused, verb+" on the hosted cluster https://127.0.0.1:")
			stopped := startHostedCluster(t, apitest.Enrollments)
			stopped.Stop()
			reporttest.CheckFailure(t, run(t, stopped), report.Failed, "refused the connection")
			err := run(t, startHostedCluster(t))
			reporttest.CheckFailure(t, err, report.Refused, "the API of NodeEnrollments is not installed")
		})
	}
}
