// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

func lostList(names ...string) *corev1.ConfigMap {
	key := lostnodes.Key()
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	list.Data = map[string]string{}
	for _, name := range names {
		list.Data[name] = "removed 2026-11-30T10:00:00Z by kube:admin"
	}
	return list
}

// The taint is set on a lost Node, and removed from others. Other taints remain.
func TestLostTaint(t *testing.T) {
	other := corev1.Taint{Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule}
	taint := corev1.Taint{Key: lostnodes.Taint, Effect: corev1.TaintEffectNoExecute}
	weaker := corev1.Taint{Key: lostnodes.Taint, Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		lost           []string
		existing, want []corev1.Taint
	}{
		"lost":                  {[]string{"worker-1"}, []corev1.Taint{other}, []corev1.Taint{other, taint}},
		"lost, without taints":  {[]string{"worker-1"}, nil, []corev1.Taint{taint}},
		"lost, tainted already": {[]string{"worker-1"}, []corev1.Taint{taint, other}, []corev1.Taint{taint, other}},
		"lost, another effect":  {[]string{"worker-1"}, []corev1.Taint{weaker}, []corev1.Taint{weaker, taint}},
		"another node is lost":  {[]string{"worker-2"}, []corev1.Taint{other}, []corev1.Taint{other}},
		"found":                 {nil, []corev1.Taint{other, taint, weaker}, []corev1.Taint{other}},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
			node.Spec.Taints = test.existing
			c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(node, lostList(test.lost...)).Build()
			request := reconcile.Request{NamespacedName: client.ObjectKey{Name: "worker-1"}}
			r := &lostReconciler{client: c}
			for range 2 {
				if result, err := r.Reconcile(t.Context(), request); err != nil || !result.IsZero() {
					t.Fatalf("%v, %v", result, err)
				}
			}
			if err := c.Get(t.Context(), request.NamespacedName, node); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, node.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
		})
	}
}

// Whether a node is lost is read from the API server if its CSR can be approved, else from the cache.
func TestLostNodesAreReadLive(t *testing.T) {
	r := &csrReconciler{
		client: fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(lostList("cached")).Build(),
		live:   fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(lostList("worker-1")).Build(),
	}
	for want, objects := range map[string]map[string]*v1alpha1.NodeEnrollment{
		"worker-1": {"worker-1": {}}, "cached": nil,
	} {
		found := gathered{objects: objects}
		if err := r.addLost(t.Context(), &found); err != nil {
			t.Fatal(err)
		}
		if got := sets.KeySet(found.facts.Lost); !got.Equal(sets.New(want)) {
			t.Errorf("lost are %v, want %s", got, want)
		}
	}
}

// A change of the list requests the decisions on the CSRs of its nodes.
func TestDecisionsAfterChangeOfLostNodes(t *testing.T) {
	r := &csrReconciler{waiting: newWaitingCSRs()}
	r.waiting.add("csr-1", "lost", sets.New("worker-1"))
	r.waiting.add("csr-2", "lost", sets.New("worker-2"))
	got := r.csrsOfLost(t.Context(), lostList("worker-1", "worker-3"))
	if len(got) != 1 || got[0].Name != "csr-1" {
		t.Errorf("requested are %v", got)
	}
	if nodes := nodesOfList(t.Context(), lostList("worker-1")); len(nodes) != 1 || nodes[0].Name != "worker-1" {
		t.Errorf("nodes are %v", nodes)
	}
}
