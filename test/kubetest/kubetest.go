// SPDX-License-Identifier: Apache-2.0

//go:build controlplane || vm

// Package kubetest is for tests that use the real control plane of test/bed:
// clients and kubeconfigs of the administrator, the bootstrapper and nodes.
package kubetest

import (
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// Plane is the real control plane that the tests of a package share. Each test
// uses its own nodes.
var Plane *bed.ControlPlane

// Run runs the tests of a package with a control plane and returns the exit code.
func Run(m *testing.M) int {
	return bed.RunTests(func(c *bed.ControlPlane) { Plane = c }, m.Run)
}

// StartPlane starts a control plane of its own until the test ends. name is the name of the hosted cluster, "" for the
// default.
func StartPlane(t *testing.T, name string) *bed.ControlPlane {
	t.Helper()
	plane, err := bed.Start(t.Context(), bed.Options{Dir: t.TempDir(), Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// AdminClient returns a client with all rights.
func AdminClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // the tests send many requests
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// BootstrapKubeconfig returns the payload's bootstrap kubeconfig, with the server
// URL that is reachable from here. change modifies it; it can be nil.
func BootstrapKubeconfig(t *testing.T, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	file, err := clientcmd.LoadFromFile(Plane.BootstrapKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := file.Contexts[file.CurrentContext]
	file.Clusters[current.Cluster].Server = "https://" + Plane.APIForward
	if change != nil {
		change(file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo])
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Signer returns the cluster's own signer of kubelets' certificates.
func Signer(t *testing.T) *certtest.CA {
	t.Helper()
	dir := filepath.Dir(Plane.BootstrapKubeconfig)
	chain, err := kube.ParsePEMCertificates(ReadFile(t, filepath.Join(dir, "csr-signer.crt")))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(ReadFile(t, filepath.Join(dir, "csr-signer.key")))
	if err != nil {
		t.Fatal(err)
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		t.Fatalf("the signer's key is a %T", parsed)
	}
	return &certtest.CA{Certificate: chain[0], Key: key}
}

// WithCredential returns a change of a kubeconfig that sets a client certificate
// of the cluster's own signer.
func WithCredential(t *testing.T, template *x509.Certificate) func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
	t.Helper()
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	ca, key := Signer(t), certtest.NewKey(t)
	return func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.Token = ""
		user.ClientCertificateData = ca.Issue(t, key, template)
		user.ClientKeyData = certtest.KeyPEM(t, key)
	}
}

// NodeKubeconfig returns the path of a kubeconfig with the credential of a node.
func NodeKubeconfig(t *testing.T, name string) string {
	t.Helper()
	subject := pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	WriteFile(t, path, BootstrapKubeconfig(t, WithCredential(t, &x509.Certificate{Subject: subject})))
	return path
}

// Connect connects with a kubeconfig, without a proxy.
func Connect(t *testing.T, kubeconfig string) *kube.Conn {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := kube.Connect(config, NoProxy)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// CreateNode creates a Node with the node's own credential.
func CreateNode(t *testing.T, connection *kube.Conn, name string, taints ...corev1.Taint) {
	t.Helper()
	_, err := connection.Client.Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// PatchNodeStatus patches a Node's status with the node's own credential.
func PatchNodeStatus(t *testing.T, connection *kube.Conn, name string, patch []byte) {
	t.Helper()
	err := connection.Client.RESTClient().Patch(types.StrategicMergePatchType).
		Resource("nodes").Name(name).SubResource("status").Body(patch).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// NoProxy selects no proxy.
func NoProxy(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // as http.Transport.Proxy returns it

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// WriteFile writes a file that only its owner can read.
func WriteFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
