//go:build controlplane

package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// plane is the real control plane that these tests share. Each test uses its
// own nodes.
var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(bed.RunTests(func(c *bed.ControlPlane) { plane = c }, m.Run))
}

// newAdminClient returns a client with all rights.
func newAdminClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
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

// newBootstrapKubeconfig returns the payload's bootstrap kubeconfig, with the server URL
// that is reachable from here. change modifies it.
func newBootstrapKubeconfig(t *testing.T, change func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	file, err := clientcmd.LoadFromFile(plane.BootstrapKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := file.Contexts[file.CurrentContext]
	file.Clusters[current.Cluster].Server = "https://" + plane.APIForward
	if change != nil {
		change(file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo])
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// withCredential returns a change that sets a bootstrap credential with a
// certificate of the cluster's own signer.
func withCredential(t *testing.T, template *x509.Certificate) func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
	t.Helper()
	dir := filepath.Dir(plane.BootstrapKubeconfig)
	chain, err := parsePEMCertificates(readFile(t, filepath.Join(dir, "csr-signer.crt")))
	if err != nil {
		t.Fatal(err)
	}
	signer, key := chain[0], certtest.NewKey(t)
	parsed, err := keyutil.ParsePrivateKeyPEM(readFile(t, filepath.Join(dir, "csr-signer.key")))
	if err != nil {
		t.Fatal(err)
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	caKey, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		t.Fatalf("the signer's key is a %T", parsed)
	}
	ca := &certtest.CA{Certificate: signer, Key: caKey}
	return func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		user.ClientCertificateData = ca.Issue(t, key, template)
		user.ClientKeyData = certtest.KeyPEM(t, key)
	}
}

func bootstrapperSubject() pkix.Name {
	return pkix.Name{
		CommonName:   "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
		Organization: []string{"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"},
	}
}

// newIdentity returns an identity with directories of the test's own, and the
// recorder of its events.
func newIdentity(t *testing.T, name string) (*Identity, *recorder) {
	t.Helper()
	dir := t.TempDir()
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		t.Fatal(err)
	}
	book, err := ledger.Open(filepath.Join(dir, "state"), ledger.Drivers{
		Paths:     &ledger.Paths{Tree: tree},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.Contents: &resource.DirSnapshot{Tree: tree}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close(); tree.Close() })
	said := &recorder{}
	return &Identity{
		Dir: filepath.Join(dir, "kubelet", "pki"), Kubeconfig: filepath.Join(dir, "kubelet", "kubeconfig"),
		BootstrapKubeconfig: newBootstrapKubeconfig(t, nil), NodeName: name, KeyDir: filepath.Join(dir, "state"), Ledger: book, Log: said.log(),
	}, said
}

// clientCSRsOf returns the client CSRs for a node.
func clientCSRsOf(t *testing.T, node string) []certificatesv1.CertificateSigningRequest {
	t.Helper()
	list, err := newAdminClient(t).CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []certificatesv1.CertificateSigningRequest
	for _, csr := range list.Items {
		request, err := parseRequest(csr.Spec.Request)
		if err == nil && request.Subject.CommonName == nodeUser(node) {
			found = append(found, csr)
		}
	}
	return found
}

// setCSRCondition adds a condition to a CSR, as an administrator with oc does.
func setCSRCondition(t *testing.T, name string, kind certificatesv1.RequestConditionType) {
	t.Helper()
	csrs := newAdminClient(t).CertificatesV1().CertificateSigningRequests()
	csr, err := csrs.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: "True", Reason: "ByHand", Message: "a person did this",
	})
	if _, err := csrs.UpdateApproval(t.Context(), name, csr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// manualApprover returns an Approver that approves every CSR.
func manualApprover(t *testing.T) Approver {
	t.Helper()
	return func(_ context.Context, request ApprovalRequest) error {
		setCSRCondition(t, request.Name, certificatesv1.CertificateApproved)
		return nil
	}
}

// waitUntil waits until so returns true, because of another goroutine or the
// cluster.
func waitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func contextWithTimeout(t *testing.T, time time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time)
	t.Cleanup(cancel)
	return ctx
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
