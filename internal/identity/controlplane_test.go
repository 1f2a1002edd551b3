// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"context"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// awaitingApproval begins the message of an identity that waits for the approval of its CSR.
const awaitingApproval = "waiting for approval of client CSR"

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

func bootstrapperSubject() pkix.Name {
	return pkix.Name{
		CommonName:   "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
		Organization: []string{"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"},
	}
}

// newIdentity returns an identity with directories of the test's own, and the
// recorder of its events.
func newIdentity(t *testing.T, name string) (*Identity, *reporttest.Recorder) {
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
	recorded := &reporttest.Recorder{}
	return &Identity{
		Dir:                 filepath.Join(dir, "kubelet", "pki"),
		Kubeconfig:          filepath.Join(dir, "kubelet", "kubeconfig"),
		BootstrapKubeconfig: kubetest.BootstrapKubeconfig(t, nil),
		NodeName:            name,
		KeyDir:              filepath.Join(dir, "state"),
		Ledger:              book,
		Log:                 recorded.Log(),
	}, recorded
}

// clientCSRsOf returns the client CSRs for a node.
func clientCSRsOf(t *testing.T, node string) []kube.CSR {
	t.Helper()
	list, err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().List(t.Context(),
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var found []kube.CSR
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
	csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
	csr, err := csrs.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type:    kind,
		Status:  "True",
		Reason:  "ByHand",
		Message: "a person did this",
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

// joinedNode returns an identity with a certificate, and the serving certificate
// of the same node.
func joinedNode(t *testing.T, name string) (*Serving, *Identity, *reporttest.Recorder) {
	t.Helper()
	identity, recorded := newIdentity(t, name)
	if _, err := identity.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	return &Serving{
		Conn:      kubetest.Connect(t, identity.Kubeconfig),
		NodeName:  name,
		Log:       recorded.Log(),
		Dir:       identity.Dir,
		Addresses: parseAddresses("192.0.2.7"),
		Validate:  rejectMismatch,
	}, identity, recorded
}
