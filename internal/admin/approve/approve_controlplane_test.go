// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approve

import (
	"os"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

const isApproved = "Approved " + approver.ApprovedReason

// openHosted opens the hosted cluster with a kubeconfig of the test bed.
func openHosted(t *testing.T, kubeconfig string) *cluster.Cluster {
	t.Helper()
	hosted, err := cluster.Open(cluster.Hosted, csrtest.Config(t, kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	return hosted
}

// checkRefused checks that an approval is refused, and that CSRs are pending nevertheless.
func checkRefused(t *testing.T, err error, want string, pending ...string) {
	t.Helper()
	if report.CodeOf(err) != report.ApprovalMissing || !strings.Contains(err.Error(), want) {
		t.Errorf("code %d, %v; want %q", report.CodeOf(err), err, want)
	}
	for _, csr := range pending {
		if got := csrtest.Conditions(t, csr); got != "" {
			t.Errorf("%s: CSR %s is %q", want, csr, got)
		}
	}
}

func TestControlPlaneApproveClientCSR(t *testing.T) {
	hosted := openHosted(t, kubetest.Plane.Kubeconfig)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	foreign := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand"}.Submit(t)
	_, err := Approve(t.Context(), hosted, "hand", fingerprint)
	checkRefused(t, err, "no CSR of hand has the key "+fingerprint+"; pending CSRs have the keys "+
		enrollment.Fingerprint(&other.PublicKey), foreign)

	// Copies of the request, with other CSR names or usages. Those without a problem are approved.
	copied := func(name string, usage certificatesv1.KeyUsage) string {
		return csrtest.ClientRequest{
			Client: csrtest.Bootstrapper(t), Key: key, Node: "hand", Name: name,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		}.Submit(t)
	}
	misused := copied("a-copy", certificatesv1.UsageServerAuth)
	_, err = Approve(t.Context(), hosted, "hand", fingerprint)
	checkRefused(t, err, "CSR a-copy must not be approved: invalid usages: found", misused)
	own := copied("node-csr-hand", certificatesv1.UsageClientAuth)
	renamed := copied("z-copy", certificatesv1.UsageClientAuth)
	for range 2 { // the second call finds the CSRs approved
		approved, err := Approve(t.Context(), hosted, "hand", fingerprint)
		if err != nil || len(approved) != 2 || csrtest.Conditions(t, own) != isApproved ||
			csrtest.Conditions(t, renamed) != isApproved {
			t.Errorf("%d approved, %v; the CSRs are %q and %q", len(approved), err, csrtest.Conditions(t, own),
				csrtest.Conditions(t, renamed))
		}
	}
	checkRefused(t, report.Fail(report.ApprovalMissing, "", ""), "", foreign, misused)

	csrtest.CreateNode(t, "hand-exists", "192.0.2.61")
	exists := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand-exists"}.Submit(t)
	_, err = Approve(t.Context(), hosted, "hand-exists", enrollment.Fingerprint(&other.PublicKey))
	checkRefused(t, err, "Node hand-exists already exists in the cluster", exists)

	_, err = Approve(t.Context(), hosted, "hand", "SHA256:abc")
	if report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), "not a fingerprint") {
		t.Errorf("an invalid fingerprint: %v", err)
	}
}

// A serving CSR is approved with the addresses that the review has shown. A node that submits another one with the same
// key meanwhile gets none of them.
func TestControlPlaneApproveServingCSR(t *testing.T) {
	hosted := openHosted(t, kubetest.Plane.Kubeconfig)
	csrtest.CreateNode(t, "served-other", "192.0.2.62")
	key := certtest.NewKey(t)
	request := csrtest.ServingRequest{Node: "served", Key: key, Addresses: []string{"192.0.2.62"}}
	csr := request.Submit(t)
	reviews, err := Review(t.Context(), hosted, "served", "")
	if err != nil || len(reviews) != 1 || reviews[0].Name != csr {
		t.Fatalf("%+v, %v", reviews, err)
	}
	text := ""
	for _, finding := range reviews[0].Findings {
		text += finding.Message + "\n"
	}
	if !strings.Contains(text, "Node served-other has the same address 192.0.2.62, which is in no enrollment") {
		t.Errorf("the conflict is not reported: %s", text)
	}
	request.Addresses = []string{"192.0.2.63"}
	second := request.Submit(t)
	_, err = Approve(t.Context(), hosted, "served", reviews[0].Key)
	checkRefused(t, err, "have the same key, but different addresses", csr, second)
	csrtest.Delete(t, second)
	if _, err := Approve(t.Context(), hosted, "served", reviews[0].Key); err != nil ||
		csrtest.Conditions(t, csr) != isApproved {
		t.Errorf("%v; the CSR is %q", err, csrtest.Conditions(t, csr))
	}
}

// A credential without permissions causes one clear error, and approves nothing.
func TestControlPlaneApproveWithoutPermission(t *testing.T) {
	key := certtest.NewKey(t)
	csr := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "unpermitted"}.Submit(t)
	hosted := openHosted(t, kubetest.Plane.BootstrapKubeconfig)
	_, err := Approve(t.Context(), hosted, "unpermitted", enrollment.Fingerprint(&key.PublicKey))
	if report.CodeOf(err) != report.CredentialRefused || !strings.Contains(err.Error(), "no permission") ||
		!strings.Contains(string(report.RemedyOf(err)), "kubeconfig of an administrator") {
		t.Errorf("%v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
	}
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Errorf("the CSR is %q", got)
	}
}
