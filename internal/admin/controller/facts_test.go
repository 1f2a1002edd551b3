// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
)

// Whether the Node of a client CSR exists is read from the API server: the cache can be behind.
func TestNodeOfClientCSRIsReadLive(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	r := &csrReconciler{
		client: fake.NewClientBuilder().WithScheme(newScheme()).Build(),
		live:   fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(node).Build(),
	}
	var found gathered
	if err := r.addNode(t.Context(), approver.Content{Node: "worker-1"}, &found); err != nil {
		t.Fatal(err)
	}
	if !found.facts.Node.Exists {
		t.Error("the Node, which the cache does not have yet, does not exist")
	}
}

// Of two NodeEnrollments with one join token, neither applies by the token.
func TestTwoEnrollmentsOfOneToken(t *testing.T) {
	var objects []client.Object
	for _, name := range []string{"worker-1", "worker-2"} {
		object := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.TokenID = "same"
		objects = append(objects, object)
	}
	for count, want := range []int{0, 1, 0} {
		r := &csrReconciler{client: fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects[:count]...).
			WithIndex(&v1alpha1.NodeEnrollment{}, tokenIndex, tokenOf).Build()}
		found := gathered{objects: map[string]*v1alpha1.NodeEnrollment{}}
		if err := r.addEnrollments(t.Context(), approver.Content{TokenID: "same"}, &found); err != nil {
			t.Fatal(err)
		}
		if len(found.objects) != want {
			t.Errorf("%d of %d NodeEnrollments with the token apply, want %d", len(found.objects), count, want)
		}
	}
}
