// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// Many nodes get access, also when one RoleBinding can have no other subject, and lose it again.
func TestAccessOfManyNodes(t *testing.T) {
	const nodes, formerNodes, maxSize = 6_500, 5_000, 1_500_000
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("large"), UID: "1",
		Labels: map[string]string{v1alpha1.LabelNodePool: "large"},
	}}
	// That of another NodePool, and that of the former version, which is nearly as large as it can be.
	other := &rbacv1.RoleBinding{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
	other.Name, other.Labels[v1alpha1.LabelNodePool] = v1alpha1.UserDataSecret("other"), "other"
	former := &rbacv1.RoleBinding{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
	former.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: secret.Name}
	objects := []client.Object{secret, other}
	for i := range nodes {
		record := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("worker-%05d.site-with-a-long-name.example.com", i),
		}}
		record.Spec.NodePool, record.Spec.UsedBy = "large", usedBy("SHA256:00")
		objects = append(objects, record)
		if i < formerNodes {
			former.Subjects = append(former.Subjects, subjectsOf(record)...)
		}
	}
	objects = append(objects, former)
	if former := size(t, former); former < maxSize/2 || former > maxSize {
		t.Fatalf("the former RoleBinding has %d bytes", former)
	}
	base := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithIndex(&v1alpha1.NodeEnrollment{}, nodePoolIndex, enrolledNodePool).Build()
	check := func(object client.Object) error {
		if size(t, object) > maxSize {
			return apierrors.NewRequestEntityTooLargeError("etcdserver: request is too large")
		}
		return nil
	}
	r := &accessReconciler{client: interceptor.NewClient(base, interceptor.Funcs{
		Create: func(ctx context.Context, api client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := check(object); err != nil {
				return err
			}
			return api.Create(ctx, object, options...)
		},
		Update: func(ctx context.Context, api client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			if err := check(object); err != nil {
				return err
			}
			return api.Update(ctx, object, options...)
		},
	})}
	subjects := func(wantBindings int) sets.Set[rbacv1.Subject] {
		t.Helper()
		_, err := r.Reconcile(t.Context(), requestsFor("large")[0])
		flowtest.NoError(t, err)
		var list rbacv1.RoleBindingList
		flowtest.NoError(t, base.List(t.Context(), &list))
		all, count := sets.New[rbacv1.Subject](), 0
		for _, binding := range list.Items {
			if binding.Labels[v1alpha1.LabelNodePool] == "large" && len(binding.Subjects) > 0 {
				count++
			}
			for _, subject := range binding.Subjects {
				if all.Has(subject) {
					t.Errorf("%s is twice among the subjects", subject.Name)
				}
				all.Insert(subject)
			}
		}
		if count != wantBindings {
			t.Errorf("%d RoleBindings have subjects, want %d", count, wantBindings)
		}
		return all
	}
	further := (2*nodes - len(former.Subjects) + maxSubjects - 1) / maxSubjects
	if got := subjects(1 + further); len(got) != 2*nodes {
		t.Errorf("%d subjects, want %d", len(got), 2*nodes)
	}
	first := objects[2].(*v1alpha1.NodeEnrollment)
	flowtest.NoError(t, base.Delete(t.Context(), first))
	if got := subjects(1 + further); len(got) != 2*nodes-2 || got.HasAny(subjectsOf(first)...) {
		t.Errorf("the subjects of a deleted enrollment remain among %d", len(got))
	}
	for _, object := range objects[3 : nodes+1] {
		flowtest.NoError(t, base.Delete(t.Context(), object))
	}
	if got := subjects(2); len(got) != 2 {
		t.Errorf("the subjects of the last enrollment are %v", got)
	}
}

func size(t *testing.T, object client.Object) int {
	t.Helper()
	content, err := json.Marshal(object)
	flowtest.NoError(t, err)
	return len(content)
}

// The ServiceAccount of a host file gets the user data until the Node exists for the first time: not again when the
// Node is deleted.
func TestSubjectsOf(t *testing.T) {
	const account, user = "ServiceAccount node-worker-1", "User system:node:worker-1"
	joined := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionJoined, Status: status, Reason: reason}}
	}
	used, again := usedBy("SHA256:00"), usedBy("SHA256:01")
	for name, test := range map[string]struct {
		used       *v1alpha1.TokenUse
		conditions []metav1.Condition
		want       []string
	}{
		"enrolled":                       {nil, nil, []string{account}},
		"the join token is used":         {used, nil, []string{user, account}},
		"the Node does not exist yet":    {used, joined(metav1.ConditionFalse, "NoNode"), []string{user, account}},
		"joined":                         {used, joined(metav1.ConditionTrue, "NodeExists"), []string{user}},
		"the Node was deleted":           {used, joined(metav1.ConditionFalse, reasonNodeDeleted), []string{user}},
		"another Node of the same name":  {nil, joined(metav1.ConditionTrue, "NodeExists"), []string{account}},
		"the Node is gone, token unused": {nil, joined(metav1.ConditionFalse, reasonNodeDeleted), []string{account}},
		"joined, may join again":         {again, joined(metav1.ConditionTrue, "NodeExists"), []string{user, account}},
	} {
		record := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
		record.Spec.UsedBy, record.Status.Conditions = test.used, test.conditions
		if test.used == again {
			record.Spec.Reinstall = v1alpha1.ReinstallAllowSameToken
		}
		var got []string
		for _, subject := range subjectsOf(record) {
			got = append(got, subject.Kind+" "+subject.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: subjects (-want +got):\n%s", name, diff)
		}
	}
}
