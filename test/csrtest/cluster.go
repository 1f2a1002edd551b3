// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package csrtest

import (
	"context"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Config returns the configuration of a client for the kubeconfig at path, with the address of the API server that is
// reachable from the test.
func Config(t *testing.T, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("https://"+kubetest.Plane.APIForward, path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // the tests send many requests
	return config
}

// Client returns a client that impersonates a user.
func Client(t *testing.T, as rest.ImpersonationConfig) kubernetes.Interface {
	t.Helper()
	config := Config(t, kubetest.Plane.Kubeconfig)
	config.Impersonate = as
	return newClient(t, config)
}

// NodeClient returns a client that impersonates a node.
func NodeClient(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	return Client(t, rest.ImpersonationConfig{UserName: "system:node:" + node, Groups: []string{"system:nodes"}})
}

// Bootstrapper returns a client with the bootstrap kubeconfig of the payload.
func Bootstrapper(t *testing.T) kubernetes.Interface {
	t.Helper()
	return newClient(t, Config(t, kubetest.Plane.BootstrapKubeconfig))
}

func newClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Kubeconfig returns the kubeconfig at path with the address of the API server that is reachable from the test.
func Kubeconfig(t *testing.T, path string) []byte {
	t.Helper()
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = "https://" + kubetest.Plane.APIForward
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// ClusterCA returns the CA of the control plane.
func ClusterCA(t *testing.T) []byte {
	t.Helper()
	return kubetest.ReadFile(t, kubetest.Plane.ClusterCA)
}

// OtherCA returns a CA that is not that of the control plane.
func OtherCA(t *testing.T) []byte {
	t.Helper()
	return kubetest.ReadFile(t, filepath.Join(filepath.Dir(kubetest.Plane.ClusterCA), "csr-signer.crt"))
}

// CreateNode creates a Node as another host's kubelet does, and deletes it after the test.
func CreateNode(t *testing.T, name string, addresses ...string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, address := range addresses {
		node.Status.Addresses = append(node.Status.Addresses,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	nodes := kubetest.AdminClient(t).CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// DeleteNode deletes a Node.
func DeleteNode(t *testing.T, name string) {
	t.Helper()
	err := kubetest.AdminClient(t).CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// AllowCSRs grants a user the bootstrapper's right to create CSRs.
func AllowCSRs(t *testing.T, user string) {
	t.Helper()
	admin := kubetest.AdminClient(t)
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bootstrapper-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	right := authorizationv1.ResourceAttributes{
		Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests",
	}
	waittest.Until(t, "waiting for the permission of "+user, func() (any, bool) {
		return right, Allowed(t, user, right)
	})
}

// Allowed reports whether a user has a right.
func Allowed(t *testing.T, user string, right authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review, err := kubetest.AdminClient(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
		&authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// Kubectl runs the real kubectl as an administrator, with an input.
func Kubectl(ctx context.Context, t *testing.T, input string, args ...string) {
	t.Helper()
	if _, err := bed.Kubectl(ctx, kubetest.Plane.Kubeconfig, input, args...); err != nil {
		t.Fatal(err)
	}
}
