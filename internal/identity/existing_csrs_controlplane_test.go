// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The name of a CSR is derived from its key, from the first run on and in every
// phase.
func TestControlPlaneFindPendingCSR(t *testing.T) {
	identity, recorded := newIdentity(t, "asks")
	find := func() *PendingCSR {
		pending, err := identity.FindPendingCSR(waittest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		return pending
	}
	if pending := find(); pending != nil {
		t.Errorf("before the first run: %+v", pending)
	}
	if _, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval),
		nil); report.CodeOf(err) != report.ApprovalMissing {
		t.Fatal(err)
	}
	csr := clientCSRsOf(t, "asks")[0]
	pending := find()
	if pending == nil || pending.Name != csr.Name || pending.Phase != "pending" ||
		!pending.Since.Equal(csr.CreationTimestamp.Time) || !strings.HasPrefix(pending.Fingerprint, "SHA256:") {
		t.Errorf("while it waits: %+v", pending)
	}
	setCSRCondition(t, csr.Name, certificatesv1.CertificateDenied)
	if denied := find(); denied.Phase != "denied" || denied.Detail != "ByHand: a person did this" ||
		denied.Name != pending.Name {
		t.Errorf("denied: %+v", denied)
	}
	if err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), csr.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if gone := find(); gone.Phase != "absent" || gone.Name != pending.Name {
		t.Errorf("deleted: %+v", gone)
	}
	identity.BootstrapKubeconfig = nil
	if unsubmitted, err := identity.FindPendingCSR(t.Context()); err == nil || unsubmitted == nil ||
		unsubmitted.Name != pending.Name || unsubmitted.Phase != "" {
		t.Errorf("without a credential: %+v, %v", unsubmitted, err)
	}
}
