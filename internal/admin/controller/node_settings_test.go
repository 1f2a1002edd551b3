// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// newSettings returns a reconciler for one node, and the API server with it. before is called before each write.
func newSettings(
	spec v1alpha1.NodeEnrollmentSpec, before func(client.Client),
) (*nodeSettingsReconciler, client.Client) {
	named := metav1.ObjectMeta{Name: "worker-1", UID: "1"}
	record := &v1alpha1.NodeEnrollment{ObjectMeta: named, Spec: spec}
	api := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(record, &corev1.Node{ObjectMeta: named}).
		WithStatusSubresource(record).WithReturnManagedFields().Build()
	hooked := interceptor.NewClient(api, interceptor.Funcs{
		Patch: func(
			ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption,
		) error {
			before(api)
			return api.Patch(ctx, object, patch, options...)
		},
		Apply: func(
			ctx context.Context, api client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption,
		) error {
			before(api)
			node, _ := object.(*corev1apply.NodeApplyConfiguration)
			for _, value := range node.Labels { // as the API server
				if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
					return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), *node.Name, nil)
				}
			}
			return api.Apply(ctx, object, options...)
		},
	})
	return &nodeSettingsReconciler{client: hooked, events: &events.FakeRecorder{}}, api
}

func settingsText(node *corev1.Node) string {
	taints := lists.Map(node.Spec.Taints, func(taint corev1.Taint) string { return taint.ToString() })
	return fmt.Sprint(node.Labels, taints)
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

// What is removed from the NodeEnrollment is removed from the Node. What others have set or changed stays.
func TestRemovedSettings(t *testing.T) {
	taint := func(key, value string) v1alpha1.NodeTaint {
		return v1alpha1.NodeTaint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	r, api := newSettings(v1alpha1.NodeEnrollmentSpec{
		Labels: map[string]string{"kept": "a", "removed": "a", "taken": "a"},
		Taints: []v1alpha1.NodeTaint{taint("kept", "a"), taint("removed", "a"), taint("taken", "a"), taint("theirs", "a")},
	}, func(client.Client) {})
	record, node := &v1alpha1.NodeEnrollment{}, &corev1.Node{}
	key := client.ObjectKey{Name: "worker-1"}
	get := func(object client.Object) {
		t.Helper()
		if err := api.Get(t.Context(), key, object); err != nil {
			t.Fatal(err)
		}
	}
	reconcile := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), requestsFor("worker-1")[0]); err != nil {
			t.Fatal(err)
		}
		get(record)
		get(node)
	}
	update := func(object client.Object) {
		t.Helper()
		if err := api.Update(t.Context(), object, client.FieldOwner("administrator")); err != nil {
			t.Fatal(err)
		}
	}
	get(node)
	node.Labels = map[string]string{"other": "a"}
	node.Spec.Taints = []corev1.Taint{
		{Key: "other", Effect: corev1.TaintEffectNoExecute},
		{Key: "theirs", Value: "a", Effect: corev1.TaintEffectNoSchedule},
	}
	update(node)
	reconcile()
	if got := settingsText(node); got != "map[kept:a other:a removed:a taken:a] "+
		"[other:NoExecute theirs=a:NoSchedule kept=a:NoSchedule removed=a:NoSchedule taken=a:NoSchedule]" {
		t.Errorf("set: %s", got)
	}
	version := node.ResourceVersion
	if reconcile(); node.ResourceVersion != version {
		t.Error("settings that are complete were written")
	}

	record.Spec.Labels = map[string]string{"kept": "a"}
	record.Spec.Taints = []v1alpha1.NodeTaint{taint("kept", "a")}
	update(record)
	node.Labels["taken"], node.Spec.Taints[4].Value = "b", "b"
	update(node)
	reconcile()
	if got := settingsText(node); got != "map[kept:a other:a taken:b] "+
		"[other:NoExecute theirs=a:NoSchedule kept=a:NoSchedule taken=b:NoSchedule]" {
		t.Errorf("removed: %s", got)
	}
	if diff := cmp.Diff([]v1alpha1.NodeTaint{taint("kept", "a")}, record.Status.AppliedTaints); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}
