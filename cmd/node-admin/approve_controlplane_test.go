// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

func (h *hostedCluster) testApproveWithoutAPI(t *testing.T) {
	key := certtest.NewKey(t)
	csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "no-api"}.Submit(t)
	got := h.exec(t, "approve", "no-api")
	if got.Code != report.ApprovalMissing || !strings.Contains(got.Out, "NodeEnrollments cannot be read: https://") ||
		!strings.Contains(got.Err, "\nhcp-node-admin approve no-api --fingerprint SHA256:") {
		t.Errorf("%+v", got)
	}
}

func (h *hostedCluster) testApprove(t *testing.T) {
	h.createNamespace(t)
	token := h.enroll(t, "reviewed", nil)
	csr, key := csrtest.SubmitWithToken(t, token)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	for _, name := range []string{"reviewed", csr} {
		got := h.exec(t, "approve", name)
		for _, want := range []string{
			"client CSR " + csr + " of reviewed, age less than a minute, submitted by system:serviceaccount:",
			"\n  key " + fingerprint + "\n", "  ok       rules ",
			"the NodeEnrollment of reviewed permits it, so that the controller approves it",
			"hcp-node-admin approve: the CSR of reviewed was not approved\n",
			"\nhcp-node-admin approve reviewed --fingerprint " + fingerprint + "\n",
		} {
			if !strings.Contains(got.Out+got.Err, want) {
				t.Errorf("%s: %q is not printed: %s%s", name, want, got.Out, got.Err)
			}
		}
		if got.Code != report.ApprovalMissing || csrtest.Conditions(t, csr) != "" {
			t.Errorf("%s: code %d, the CSR is %q", name, got.Code, csrtest.Conditions(t, csr))
		}
	}
	documents := strings.SplitAfter(h.exec(t, "approve", "reviewed", "-o", "json").Out, "\n")
	if wrong := admin().ValidateDocuments(t, documents[:len(documents)-1]...); wrong != "" || len(documents) != 3 ||
		!strings.Contains(documents[0], `"kind":"CSRReview"`) || !strings.Contains(documents[1], `"kind":"Failure"`) {
		t.Errorf("%s%q", wrong, documents)
	}

	// A copy with other usages is shown as a problem. The enrollment of another key does not permit a CSR.
	copied := csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: key, Node: "reviewed",
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}.Submit(t)
	h.use(t, "reviewed", "SHA256:00")
	got := h.exec(t, "approve", "reviewed")
	for _, want := range []string{
		"client CSR " + copied + " of", "  problem  rules                invalid usages: ",
		"2 CSRs of reviewed were not approved",
		"was already used with another key (SHA256:00)",
	} {
		if !strings.Contains(got.Out+got.Err, want) {
			t.Errorf("%q is not printed: %s%s", want, got.Out, got.Err)
		}
	}
	approved := h.exec(t, "approve", "reviewed", "--fingerprint", fingerprint)
	if approved.Code != report.Success || !strings.Contains(csrtest.Conditions(t, csr), "Approved") ||
		csrtest.Conditions(t, copied) != "" {
		t.Errorf("%+v: %q, %q", approved, csrtest.Conditions(t, csr), csrtest.Conditions(t, copied))
	}
	h.checkApproveName(t)
	h.checkApprovePermissions(t)
	none := h.exec(t, "approve", "worker-9")
	if none.Code != report.ApprovalMissing || !strings.Contains(none.Err, "no CSR of worker-9 is pending") {
		t.Errorf("no CSR: %+v", none)
	}
}

// A node that names its CSR like another node gets no certificate for the address of that node.
func (h *hostedCluster) checkApproveName(t *testing.T) {
	t.Helper()
	key := certtest.NewKey(t)
	serving := csrtest.ServingRequest{Node: "hostile", Key: key, Addresses: []string{"192.0.2.99"}}.Submit(t)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	got := h.exec(t, "approve", serving, "--fingerprint", fingerprint)
	if got.Code != report.ApprovalMissing || csrtest.Conditions(t, serving) != "" {
		t.Errorf("the name of a CSR with --fingerprint: %+v", got)
	}
	got = h.exec(t, "approve", serving)
	if !strings.Contains(got.Out, "serving CSR "+serving+" of hostile") ||
		!strings.Contains(got.Err, "\nhcp-node-admin approve hostile --fingerprint "+fingerprint+"\n") {
		t.Errorf("the name of a serving CSR: %+v", got)
	}
	got = h.exec(t, "approve", "hostile", "--fingerprint", fingerprint)
	if got.Code != report.Success || !strings.Contains(got.Out, "approved: serving CSR "+serving+" of hostile") ||
		!strings.Contains(got.Out, "\n  addresses 192.0.2.99\n") || csrtest.Conditions(t, serving) == "" {
		t.Errorf("the serving CSR: %+v", got)
	}
}

func (h *hostedCluster) checkApprovePermissions(t *testing.T) {
	t.Helper()
	h.grant(t, "manual-approver", approvePermissions())
	key := certtest.NewKey(t)
	csr := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "permitted-csr"}.Submit(t)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	h.await(t, "manual-approver", "approve", "permitted-csr", "--fingerprint", fingerprint)
	if csrtest.Conditions(t, csr) == "" {
		t.Error("with the documented permissions: the CSR is not approved")
	}
	least := h.as(t, "manual-approver")
	csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: certtest.NewKey(t), Node: "permitted-csr"}.Submit(t)
	if got := runCommandLine(t, "approve", "permitted-csr", "--kubeconfig", least); got.Code != report.ApprovalMissing ||
		!strings.Contains(got.Out, "no enrollment exists for node \"permitted-csr\"") {
		t.Errorf("with the documented permissions: %+v", got)
	}
}
