// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlaneServing(t *testing.T) {
	serving, identity, recorded := joinedNode(t, "serving")
	bad := createServingCSR(t, serving, "192.0.2.99")
	_, err := serving.Obtain(recorded.DeadlineAt(t, "waiting for a valid serving CSR"), manualApprover(t))
	if report.CodeOf(err) != report.ApprovalMissing ||
		!strings.Contains(err.Error(), bad+" does not match this machine, do not approve it") {
		t.Errorf("Obtain() with an address of another machine = %v", err)
	}

	waittest.UntilNextSecond(t) // the newest CSR counts
	good := createServingCSR(t, serving, "192.0.2.7")
	done := make(chan error)
	go func() { _, err := serving.Obtain(waittest.Context(t), nil); done <- err }()
	waittest.UntilText(t, "\noc adm certificate approve "+good+"\n", recorded.Text)
	setCSRCondition(t, good, certificatesv1.CertificateApproved)
	var issued []byte
	waittest.Until(t, "waiting for the certificate", func() (any, bool) {
		csr, err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), good,
			metav1.GetOptions{})
		if err == nil {
			issued = csr.Status.Certificate
		}
		return err, len(issued) > 0
	})
	kubetest.WriteFile(t, filepath.Join(identity.Dir, "kubelet-server-current.pem"), issued) // as kubelet does
	if err := <-done; err != nil {
		t.Errorf("Obtain() = %v", err)
	}
	if serving.Check() != Valid {
		t.Errorf("Check() = %q", serving.Check())
	}
}

func rejectMismatch(csr *kube.CSR) error {
	const address = "192.0.2.7"
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return err
	}
	if len(request.IPAddresses) != 1 || request.IPAddresses[0].String() != address {
		return x509.HostnameError{Certificate: &x509.Certificate{IPAddresses: request.IPAddresses}, Host: address}
	}
	return nil
}
