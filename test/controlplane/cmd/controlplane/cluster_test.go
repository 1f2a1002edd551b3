// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"net/url"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	clientSigner  = certificatesv1.KubeAPIServerClientKubeletSignerName
	servingSigner = certificatesv1.KubeletServingSignerName
)

// config reads a kubeconfig. A kubeconfig for nodes is redirected to the loopback interface and
// keeps the server name of the certificate.
func (c *controlPlane) config(t *testing.T, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host == c.NodeSideServer {
		server, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		config.ServerName = server.Hostname()
		config.Host = "https://" + c.APIForward
	}
	return config
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// testApproval tests which requests a hosted cluster approves automatically, and which need
// manual approval. Each part depends on the part before.
func testApproval(t *testing.T, c *controlPlane) {
	ctx := context.Background()
	bootstrapConfig := c.config(t, c.BootstrapKubeconfig)
	bootstrap, approver := client(t, bootstrapConfig), client(t, c.config(t, c.ApproverKubeconfig))

	left := request(t, bootstrap, clientSigner, "worker-left")
	joined := request(t, bootstrap, clientSigner, "worker-joined")
	if err := approve(ctx, bootstrap, joined.name); !apierrors.IsForbidden(err) {
		t.Errorf("the bootstrap identity approving: %v, want forbidden", err)
	}
	if err := approve(ctx, approver, joined.name); err != nil {
		t.Fatalf("the approver approving: %v", err)
	}
	nodeConfig := rest.CopyConfig(bootstrapConfig)
	nodeConfig.CertData, nodeConfig.KeyData = joined.await(t, bootstrap), joined.key
	node := client(t, nodeConfig)

	// Renewals are approved automatically. A CSR that is still pending afterwards is therefore
	// not approved by the controller.
	renewal := request(t, node, clientSigner, "worker-joined")
	renewal.await(t, node)
	serving := request(t, node, servingSigner, "worker-joined")
	second := request(t, node, clientSigner, "worker-joined")
	second.await(t, node)
	for _, pending := range []csr{left, serving} {
		if conditions := pending.conditions(t, approver); len(conditions) > 0 {
			t.Errorf("%s: %v, want no conditions", pending.name, conditions)
		}
	}
	if err := approve(ctx, approver, serving.name); err != nil {
		t.Fatalf("the approver approving a serving CSR: %v", err)
	}
	serving.await(t, node)

	object := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	if _, err := node.CoreV1().Nodes().Create(ctx, object("worker-other"),
		metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a node creating another one: %v, want forbidden", err)
	}
	if _, err := node.CoreV1().Nodes().Create(ctx, object("worker-joined"), metav1.CreateOptions{}); err != nil {
		t.Errorf("a node creating itself: %v", err)
	}
	if _, err := approver.CoreV1().Nodes().Get(ctx, "worker-joined", metav1.GetOptions{}); err != nil {
		t.Errorf("the approver reading a node: %v", err)
	}
	if _, err := approver.CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the approver listing secrets: %v, want forbidden", err)
	}
}
