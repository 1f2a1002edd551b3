// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"crypto"
	"errors"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// annotateWith annotates a CSR as a join token does.
func annotateWith(value string) func(crypto.PublicKey) (map[string]string, error) {
	return func(key crypto.PublicKey) (map[string]string, error) {
		return map[string]string{"example.com/proof": value + " of " + fingerprint(key)}, nil
	}
}

// An annotation can be set only on creation. A first or a different join token
// therefore requires a new key and a new CSR; the same token does not.
func TestControlPlaneNewTokenReplacesCSR(t *testing.T) {
	identity, recorded := newIdentity(t, "annotated")
	waiting := func() kube.CSR {
		t.Helper()
		result, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
		if report.CodeOf(err) != report.ApprovalMissing {
			t.Fatalf("Obtain() = %v", err)
		}
		csr, err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), result.CSR,
			metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return *csr
	}
	plain := waiting()
	if len(plain.Annotations) != 0 || !strings.Contains(recorded.Text(), "on platform None no controller approves it") {
		t.Errorf("without a join token: %v; printed:\n%s", plain.Annotations, recorded.Text())
	}

	identity.Annotate = annotateWith("first")
	first := waiting()
	request, err := parseRequest(first.Spec.Request)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := identity.Annotate(request.PublicKey); first.Name == plain.Name ||
		first.Annotations["example.com/proof"] != want["example.com/proof"] {
		t.Errorf("with a join token: %s after %s, annotations %v", first.Name, plain.Name, first.Annotations)
	}
	for _, want := range []string{
		plain.Name + " is without the proof of this node's identity", "submitting a new CSR with a new key",
		"the CSR contains the proof of this node's join token",
		"if it does not, run on the hosted cluster:\n",
		"hcp-node-admin approve " + identity.NodeName + " # prints why",
		"oc adm certificate approve " + first.Name,
	} {
		if !strings.Contains(recorded.Text(), want) {
			t.Errorf("%q was not printed:\n%s", want, recorded.Text())
		}
	}
	if again := waiting(); again.UID != first.UID {
		t.Errorf("with the same join token there is another CSR: %s after %s", again.Name, first.Name)
	}

	identity.Annotate = annotateWith("second")
	second := waiting()
	if second.Name == first.Name || !strings.Contains(second.Annotations["example.com/proof"], "second of ") {
		t.Errorf("with another join token: %s after %s, annotations %v", second.Name, first.Name, second.Annotations)
	}

	// An expired join token ends the wait, unless the CSR was approved in time.
	expired := report.Fail(report.CredentialRefused, "create a new token", "expired")
	identity.Annotate = func(crypto.PublicKey) (map[string]string, error) { return nil, expired }
	if _, err := identity.Obtain(waittest.Context(t), nil); !errors.Is(err, expired) {
		t.Errorf("Obtain() = %v, want that the join token has expired", err)
	}
	if all := clientCSRsOf(t, "annotated"); len(all) != 3 {
		t.Errorf("there are %d CSRs, want the three that were requested", len(all))
	}
	setCSRCondition(t, second.Name, certificatesv1.CertificateApproved)
	result, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil || result.CSR != second.Name {
		t.Errorf("Obtain() = %+v, %v", result, err)
	}
}

// If the agent approves its own CSRs, no approval command is shown.
func TestControlPlaneAutomaticApprovalShowsNoCommand(t *testing.T) {
	serving, _, recorded := joinedNode(t, "own-approval")
	csr := createServingCSR(t, serving, "192.0.2.7")
	before := len(recorded.Text())
	isLogged := recorded.DeadlineAt(t, "waiting for approval of CSR "+csr)
	if _, err := serving.Obtain(isLogged, manualApprover(t)); err == nil {
		t.Error("a serving certificate exists, but no kubelet runs")
	}
	other, otherLog := newIdentity(t, "own-approval-client")
	result, err := other.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{csr: recorded.Text()[before:], result.CSR: otherLog.Text()} {
		if strings.Contains(text, "oc adm certificate approve") ||
			!strings.Contains(text, "waiting for approval of CSR "+name+" (key SHA256:") {
			t.Errorf("printed about %s:\n%s", name, text)
		}
	}
}
