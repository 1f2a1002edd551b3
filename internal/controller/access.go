// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Reconcile writes the Role and the RoleBinding of one NodePool. The Secret owns them.
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
	binding := &rbacv1.RoleBinding{ObjectMeta: named}
	return r.write(ctx, binding, secret, func() {
		binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
		binding.Subjects = nil
		for i := range records {
			binding.Subjects = append(binding.Subjects, subjectsOf(&records[i])...)
		}
		slices.SortFunc(binding.Subjects, func(a, b rbacv1.Subject) int { return strings.Compare(a.Name, b.Name) })
	})
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

// subjectsOf returns the identities with which a host gets the user data: that of its node, and until the Node exists
// for the first time, the ServiceAccount whose token is in its join token.
func subjectsOf(record *v1alpha1.NodeEnrollment) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	isBound := record.Status.BoundKey != ""
	if isBound {
		subjects = append(subjects, rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:node:" + record.Name,
		})
	}
	if !isBound || !hasJoined(record) {
		subjects = append(subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount(record.Name),
		})
	}
	return subjects
}
