// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// newSettings returns a reconciler for one node, and the API server with it. before is called before each write.
func newSettings(
	spec v1alpha1.NodeEnrollmentSpec, before func(client.Client),
) (*nodeSettingsReconciler, client.Client) {
	named := metav1.ObjectMeta{Name: "worker-1"}
	api := fake.NewClientBuilder().WithScheme(newScheme()).
		WithObjects(&v1alpha1.NodeEnrollment{ObjectMeta: named, Spec: spec}, &corev1.Node{ObjectMeta: named}).Build()
	hooked := interceptor.NewClient(api, interceptor.Funcs{Patch: func(
		ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
	) error {
		before(api)
		for _, value := range object.GetLabels() { // as the API server
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), object.GetName(), nil)
			}
		}
		return api.Patch(ctx, object, patch, options...)
	}})
	return &nodeSettingsReconciler{client: hooked, events: &events.FakeRecorder{}}, api
}

func taintsOf(t *testing.T, api client.Client) []string {
	t.Helper()
	node := &corev1.Node{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "worker-1"}, node); err != nil {
		t.Fatal(err)
	}
	var taints []string
	for _, taint := range node.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	slices.Sort(taints)
	return taints
}

// A label that the API server rejects does not prevent the taints.
func TestTaintsWithInvalidLabel(t *testing.T) {
	r, api := newSettings(v1alpha1.NodeEnrollmentSpec{
		Labels: map[string]string{"zone": "a b"},
		Taints: []v1alpha1.NodeTaint{{Key: "dedicated", Effect: corev1.TaintEffectNoExecute}},
	}, func(client.Client) {})
	if _, err := r.Reconcile(t.Context(), requestsFor("worker-1")[0]); !apierrors.IsInvalid(err) {
		t.Errorf("Reconcile() = %v", err)
	}
	if got := strings.Join(taintsOf(t, api), " "); got != "dedicated" {
		t.Errorf("the taints are %q", got)
	}
}

// A taint that another client adds between the read and the write remains.
func TestTaintsOfAnotherClientRemain(t *testing.T) {
	isDone := false
	r, api := newSettings(v1alpha1.NodeEnrollmentSpec{
		Taints: []v1alpha1.NodeTaint{{Key: "dedicated", Effect: corev1.TaintEffectNoExecute}},
	}, func(api client.Client) {
		if isDone {
			return
		}
		isDone = true
		node := &corev1.Node{}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "worker-1"}, node); err != nil {
			t.Fatal(err)
		}
		node.Spec.Taints = []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoSchedule}}
		if err := api.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	})
	for range 2 {
		if _, err := r.Reconcile(t.Context(), requestsFor("worker-1")[0]); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(taintsOf(t, api), " "); got != "dedicated other" {
		t.Errorf("the taints are %q", got)
	}
}
