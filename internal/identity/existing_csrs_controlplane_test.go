// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The name of a CSR is derived from its key, from the first run on and in every
// phase.
func TestControlPlaneFindPendingCSR(t *testing.T) {
	identity, _ := newIdentity(t, "asks")
	find := func() *PendingCSR {
		pending, err := identity.FindPendingCSR(kubetest.Context(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return pending
	}
	if pending := find(); pending != nil {
		t.Errorf("before the first run: %+v", pending)
	}
	if _, err := identity.Obtain(kubetest.Context(t, 2*time.Second),
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

// A node can read its own CSRs, and no others.
func TestControlPlaneCSRsJSON(t *testing.T) {
	other, _, _ := joinedNode(t, "somebody")
	node, identity, _ := joinedNode(t, "documented")
	client := clientCSRsOf(t, "documented")[0].Name
	createServingCSR(t, other, "192.0.2.7")
	wanted := map[string]bool{createServingCSR(t, node, "192.0.2.7"): true, client: true}

	content, err := CSRsJSON(kubetest.Context(t, time.Minute), node.Conn, node.NodeName,
		append(identity.CSRNames(), "node-csr-collected"))
	if err != nil {
		t.Fatal(err)
	}
	bootstrapped, err := identity.CSRsJSON(kubetest.Context(t, time.Minute), identity.CSRNames())
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{content, bootstrapped} {
		var csrs []kube.CSR
		if err := json.Unmarshal(content, &csrs); err != nil {
			t.Fatal(err)
		}
		for _, csr := range csrs {
			if !wanted[csr.Name] {
				t.Errorf("%s of %s is none of its own", csr.Name, csr.Spec.Username)
			}
		}
		if len(csrs) != 2 {
			t.Errorf("%d CSRs: %s", len(csrs), content)
		}
	}
}
