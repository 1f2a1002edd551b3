// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// accessReconciler permits the hosts of each NodePool to get the Secret with its user data.
type accessReconciler struct {
	client client.Client
}

func addAccessController(m manager.Manager) error {
	return builder.ControllerManagedBy(m).Named("access").
		WatchesMetadata(&corev1.Secret{}, atOnce(labeledPool)).
		Watches(&rbacv1.Role{}, delayed(subjectDelay, labeledPool)).
		Watches(&rbacv1.RoleBinding{}, delayed(subjectDelay, labeledPool)).
		Watches(&v1alpha1.NodeEnrollment{}, delayed(subjectDelay, enrolledPool), builder.WithPredicates(subjectChange)).
		Complete(&accessReconciler{client: m.GetClient()})
}

// subjectDelay combines the changes of many enrollments: each write of a RoleBinding contains all its subjects.
const subjectDelay = 5 * time.Second

// subjectChange selects the changes of a NodeEnrollment that change the subjects.
var subjectChange = predicate.Funcs{
	UpdateFunc: func(changed event.UpdateEvent) bool {
		before, after := changed.ObjectOld.(*v1alpha1.NodeEnrollment), changed.ObjectNew.(*v1alpha1.NodeEnrollment)
		return before.Spec.NodePool != after.Spec.NodePool || !slices.Equal(subjectsOf(before), subjectsOf(after))
	},
}

// Reconcile writes the Role and the RoleBindings of one NodePool. The Secret owns them.
func (r *accessReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	secret, err := publishedSecret(ctx, r.client, request.Name)
	if secret == nil || err != nil {
		return reconcile.Result{}, err
	}
	err = r.permit(ctx, request.Name, secret)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) { // the cache does not have the last write yet
		return reconcile.Result{RequeueAfter: recheckDelay}, nil
	}
	return reconcile.Result{}, err
}

func (r *accessReconciler) permit(
	ctx context.Context, nodePool string, secret *metav1.PartialObjectMetadata,
) error {
	records, err := enrollmentsOfPool(ctx, r.client, nodePool)
	if err != nil {
		return err
	}
	named := metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}
	role := &rbacv1.Role{ObjectMeta: named}
	if err := r.write(ctx, role, secret, func() {
		role.Rules = []rbacv1.PolicyRule{{
			APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: []string{secret.Name},
			Verbs: []string{"get"},
		}}
	}); err != nil {
		return err
	}
	wanted := sets.New[rbacv1.Subject]()
	for i := range records {
		wanted.Insert(subjectsOf(&records[i])...)
	}
	var existing rbacv1.RoleBindingList
	hasLabel := client.MatchingLabels{v1alpha1.LabelNodePool: secret.Labels[v1alpha1.LabelNodePool]}
	if err := r.client.List(ctx, &existing, client.InNamespace(secret.Namespace), hasLabel); err != nil {
		return fmt.Errorf("listing the RoleBindings of NodePool %s: %w", nodePool, err)
	}
	bindings := map[string][]rbacv1.Subject{}
	for i := range existing.Items {
		if binding := &existing.Items[i]; v1alpha1.PublishedNodePool(binding) == nodePool {
			bindings[binding.Name] = binding.Subjects
		}
	}
	var failed []error
	for name, subjects := range distribute(secret.Name, bindings, wanted) {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: name}}
		failed = append(failed, r.write(ctx, binding, secret, func() {
			binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
			binding.Subjects = subjects
		}))
	}
	return errors.Join(failed...)
}

// maxSubjects limits the subjects of a RoleBinding. etcd rejects an object of 1.5 MB, which could then not even lose a
// subject that must be removed.
const maxSubjects = 1000

// distribute returns the subjects of each RoleBinding for those that are wanted. Each remains where it is: what is
// removed makes one RoleBinding smaller and changes no other. Others are added where there is room, and to RoleBindings
// that do not exist yet.
func distribute(
	base string, existing map[string][]rbacv1.Subject, wanted sets.Set[rbacv1.Subject],
) map[string][]rbacv1.Subject {
	bindings, missing := map[string][]rbacv1.Subject{base: nil}, wanted.Clone()
	for name, subjects := range existing {
		kept := []rbacv1.Subject{}
		for _, subject := range subjects {
			if missing.Has(subject) {
				missing.Delete(subject)
				kept = append(kept, subject)
			}
		}
		bindings[name] = kept
	}
	compare := func(a, b rbacv1.Subject) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind)) }
	added := slices.SortedFunc(maps.Keys(missing), compare)
	fill := func(name string) {
		count := min(len(added), max(0, maxSubjects-len(bindings[name])))
		bindings[name] = append(bindings[name], added[:count]...)
		slices.SortFunc(bindings[name], compare)
		added = added[count:]
	}
	for _, name := range slices.Sorted(maps.Keys(bindings)) {
		fill(name)
	}
	for i := 2; len(added) > 0; i++ {
		if name := fmt.Sprintf("%s:%d", base, i); bindings[name] == nil {
			fill(name)
		}
	}
	return bindings
}

// write creates or updates an object that the Secret owns.
func (r *accessReconciler) write(
	ctx context.Context, object client.Object, secret *metav1.PartialObjectMetadata, set func(),
) error {
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, object, func() error {
		set()
		object.SetLabels(map[string]string{v1alpha1.LabelNodePool: secret.Labels[v1alpha1.LabelNodePool]})
		return controllerutil.SetOwnerReference(secret, object, r.client.Scheme())
	})
	if err != nil {
		return fmt.Errorf("permitting the hosts of a NodePool to get Secret %s: %w", secret.Name, err)
	}
	return nil
}

// subjectsOf returns the identities with which a host gets the user data: that of its node, and the ServiceAccount
// whose token is in its join token. The latter ends when the Node exists for the first time, unless the host may use
// the join token again.
func subjectsOf(record *v1alpha1.NodeEnrollment) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	isUsed := record.Spec.UsedBy != nil
	if isUsed {
		subjects = append(subjects, rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:node:" + record.Name,
		})
	}
	if !isUsed || !hasJoined(record) || record.Spec.Reinstall == v1alpha1.ReinstallAllowSameToken {
		subjects = append(subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount(record.Name),
		})
	}
	return subjects
}
