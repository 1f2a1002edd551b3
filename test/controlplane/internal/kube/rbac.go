// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// grant creates the objects that HyperShift creates in a hosted cluster, and those of the test
// environment's approver. Missing objects matter, too: on platform None no controller approves a
// kubelet's first client CSR or its serving CSR. Therefore no binding to nodeclient exists here,
// and no controller watches serving CSRs.
func grant(ctx context.Context, client kubernetes.Interface) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bootstrapNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", bootstrapNamespace, err)
	}
	role := approverRole()
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating ClusterRole %s: %w", role.Name, err)
	}
	for _, binding := range []*rbacv1.ClusterRoleBinding{
		// HyperShift's hosted cluster config operator creates both with these names and subjects
		// (resources/rbac/reconcile.go).
		bind("create-csrs-for-bootstrapping", "system:node-bootstrapper", rbacv1.UserKind, BootstrapUser),
		bind("system-bootstrap-node-renewal",
			"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", rbacv1.GroupKind, "system:nodes"),
		bind(role.Name, role.Name, rbacv1.UserKind, approverUser),
	} {
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ClusterRoleBinding %s: %w", binding.Name, err)
		}
	}
	return nil
}

func bind(name, role, kind, subject string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: kind, Name: subject}},
	}
}

// approverRole returns the minimal role for approving kubelets' CSRs.
func approverRole() *rbacv1.ClusterRole {
	const certificates = "certificates.k8s.io"
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "kubelet-csr-approver"},
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{certificates}, Resources: []string{"certificatesigningrequests"},
				Verbs: []string{"get", "list", "watch"},
			},
			{
				APIGroups: []string{certificates}, Resources: []string{"certificatesigningrequests/approval"},
				Verbs: []string{"update"},
			},
			{
				APIGroups: []string{certificates}, Resources: []string{"signers"}, Verbs: []string{"approve"},
				ResourceNames: []string{"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"},
			},
			{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list"}},
		},
	}
}
