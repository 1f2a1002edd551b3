// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// hostClient returns a client with a token of the ServiceAccount of a host.
func hostClient(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.ServiceAccount(node)},
	}
	record := getEnrollment(t, node)
	account.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(record, v1alpha1.GroupVersion.WithKind("NodeEnrollment")),
	}
	if err := adminClient(t).Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	token := &authenticationv1.TokenRequest{}
	if err := adminClient(t).SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config := adminConfig(t)
	bearer := rest.AnonymousClientConfig(config)
	bearer.BearerToken = token.Status.Token
	host, err := kubernetes.NewForConfig(bearer)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// awaitAccess waits until a host may, or may not, get the user data of a NodePool.
func awaitAccess(t *testing.T, what string, host kubernetes.Interface, nodePool string, may bool) {
	t.Helper()
	waittest.Until(t, "waiting for "+what, func() (any, bool) {
		_, err := host.CoreV1().Secrets(v1alpha1.Namespace).Get(t.Context(), v1alpha1.UserDataSecret(nodePool),
			metav1.GetOptions{})
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err, (err == nil) == may
	})
}

// A host gets the user data of its own NodePool only: before it has joined with the token of its ServiceAccount, later
// with the credential of its node. Without its enrollment it gets none.
func TestControlPlaneAccessToUserData(t *testing.T) {
	c := startController(t)
	publish(t, "accessed", "new")
	publish(t, "other", "new")
	token, object := newEnrollment(t, "accessed-1", csrtest.ClusterCA(t))
	object.Spec.NodePool = "accessed"
	create(t, object)
	host, node := hostClient(t, "accessed-1"), csrtest.NodeClient(t, "accessed-1")
	awaitAccess(t, "access of the host", host, "accessed", true)
	awaitAccess(t, "no access to another NodePool", host, "other", false)
	awaitAccess(t, "no access of the node", node, "accessed", false)
	_, err := host.CoreV1().Secrets(v1alpha1.Namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the host may list Secrets: %v", err)
	}

	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	awaitAccess(t, "access of the node", node, "accessed", true)
	awaitAccess(t, "no access of the node to another NodePool", node, "other", false)
	awaitAccess(t, "access of the host that has not joined", host, "accessed", true)
	csrtest.CreateNode(t, "accessed-1")
	awaitAccess(t, "no access of the host that has joined", host, "accessed", false)

	binding := &rbacv1.RoleBinding{}
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("accessed")}
	if err := adminClient(t).Get(t.Context(), key, binding); err != nil {
		t.Fatal(err)
	}
	change(t, binding, func(binding *rbacv1.RoleBinding) {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:node:intruder",
		})
	})
	awaitAccess(t, "no access of a node that was added by hand", csrtest.NodeClient(t, "intruder"), "accessed", false)

	deleteEnrollment(t, "accessed-1")
	awaitAccess(t, "no access without an enrollment", node, "accessed", false)
	if all := c.errors(); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}
