// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// setMachineID sets the machine ID in the Node's status, as its kubelet does.
func setMachineID(t *testing.T, serving *Serving, machineID string) {
	t.Helper()
	patch, err := json.Marshal(
		map[string]any{"status": corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{MachineID: machineID}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubetest.PatchNodeStatus(t, serving.Conn, serving.NodeName, patch)
}

func TestControlPlaneRejectsNodeOfAnotherHost(t *testing.T) {
	node, first, _ := joinedNode(t, "twins")
	kubetest.CreateNode(t, node.Conn, node.NodeName)
	renewed := metav1.NowMicro()
	if _, err := node.Conn.Client.Leases(corev1.NamespaceNodeLease).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "twins"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// The bootstrap credential cannot read the Node, so the check needs the node's
	// credential.
	config, _, err := parseBootstrapKubeconfig(first.BootstrapKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	bootstrapper, err := kube.Connect(config, kubetest.NoProxy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bootstrapper.Client.Nodes().Get(t.Context(), "twins"); !apierrors.IsForbidden(err) {
		t.Errorf("the bootstrap credential may read a Node: %v", err)
	}

	// A Node that no kubelet has reported yet belongs to no host.
	second, recorded := newIdentity(t, "twins")
	second.MachineID = "2222"
	first.MachineID = "1111"
	if _, err := first.Obtain(waittest.Context(t), nil); err != nil {
		t.Errorf("Obtain() with a Node without machine-id = %v", err)
	}

	setMachineID(t, node, "1111")
	result, err := second.Obtain(waittest.Context(t), manualApprover(t))
	want := "the machine-id of Node twins is 1111, this machine's is 2222; it last reported to the cluster at " +
		report.Timestamp(renewed.Time)
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) ||
		!strings.Contains(string(report.RemedyOf(err)), "oc delete node twins") {
		t.Errorf("Obtain() = %v (code %d, %s), want %q", err, report.CodeOf(err), report.RemedyOf(err), want)
	}
	if _, err := os.Lstat(filepath.Dir(second.Dir)); !os.IsNotExist(err) {
		t.Errorf("the identity of another machine's Node was stored: %v", err)
	}
	// A stored identity is rejected too, for example on a clone of a node.
	first.MachineID = "3333"
	if _, err := first.Obtain(waittest.Context(t), nil); report.CodeOf(err) != report.Refused {
		t.Errorf("Obtain() of a clone = %v", err)
	}

	// After the other host's Node is deleted, the certificate already exists.
	if err := kubetest.AdminClient(t).CoreV1().Nodes().Delete(t.Context(), "twins",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := second.Obtain(waittest.Context(t), nil)
	if err != nil || again.CSR != result.CSR {
		t.Errorf("Obtain() after the deletion = %+v, %v; want the earlier CSR %s; printed:\n%s", again, err, result.CSR,
			recorded.Text())
	}
}

func TestControlPlaneAcceptsNodeOfThisHost(t *testing.T) {
	node, _, _ := joinedNode(t, "again")
	kubetest.CreateNode(t, node.Conn, node.NodeName)
	setMachineID(t, node, "1111")
	again, recorded := newIdentity(t, "again")
	again.MachineID = "1111"
	if _, err := again.Obtain(waittest.Context(t), manualApprover(t)); err != nil ||
		!strings.Contains(recorded.Text(), ", belongs to this machine (machine-id 1111)") {
		t.Errorf("Obtain() = %v; printed:\n%s", err, recorded.Text())
	}
}

func TestControlPlaneFailedCSR(t *testing.T) {
	identity, _ := newIdentity(t, "failed")
	fail := func(ctx context.Context, request ApprovalRequest) error {
		csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
		csr, err := csrs.Get(ctx, request.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type:    certificatesv1.CertificateFailed,
			Status:  "True",
			Reason:  "SignerValidationFailure",
			Message: "for the test",
		})
		_, err = csrs.UpdateStatus(ctx, csr, metav1.UpdateOptions{})
		return err
	}
	result, err := identity.Obtain(waittest.Context(t), fail)
	if report.CodeOf(err) != report.ApprovalMissing ||
		!strings.Contains(err.Error(), result.CSR+" is failed (SignerValidationFailure: for the test)") {
		t.Errorf("Obtain() = %v (code %d)", err, report.CodeOf(err))
	}
}

// A CSR that was deleted between two runs is submitted again, and the message
// contains the start of the wait.
func TestControlPlaneResubmitsDeletedCSR(t *testing.T) {
	identity, recorded := newIdentity(t, "collected")
	first, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if err == nil {
		t.Fatal("without an approval the identity exists")
	}
	if err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), first.CSR,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	day := time.Now().Add(-25 * time.Hour)
	// the first run was a day ago
	if err := os.Chtimes(filepath.Join(identity.KeyDir, pendingKeyName), day, day); err != nil {
		t.Fatal(err)
	}
	_, err = identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if !strings.Contains(recorded.Text(), ", waiting since "+report.Timestamp(day)) {
		t.Errorf("the second run printed\n%s\n%v", recorded.Text(), err)
	}
	second, err := identity.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil || second.CSR != first.CSR {
		t.Errorf("Obtain() = %+v, %v; want the CSR %s again; printed:\n%s", second, err, first.CSR, recorded.Text())
	}
}

// A pending CSR of a serving certificate near its expiry is reported, and
// approved if there is an approver.
func TestControlPlaneServingRenewalIsReportedAndApproved(t *testing.T) {
	serving, identity, recorded := joinedNode(t, "renewal")
	template := servingCertificate("renewal", "192.0.2.7")
	template.NotBefore, template.NotAfter = time.Now().Add(-80*time.Hour), time.Now().Add(20*time.Hour)
	kubetest.WriteFile(t, filepath.Join(identity.Dir, "kubelet-server-current.pem"),
		certtest.NewCA(t, "signer").Issue(t, certtest.NewKey(t), template))

	if _, err := serving.Obtain(waittest.Context(t), nil); err != nil ||
		strings.Contains(recorded.Text(), "serving certificate expires") {
		t.Errorf("Obtain() before kubelet has requested a certificate = %v; printed:\n%s", err, recorded.Text())
	}
	without := *serving
	without.Dir = t.TempDir()
	if got, err := without.checkInitial(waittest.Context(t)); err != nil || got.Text != noServingCSRText {
		t.Errorf("checkInitial() before kubelet has requested a certificate = %+v, %v", got, err)
	}
	csr := createServingCSR(t, serving, "192.0.2.7")
	if got, err := without.checkInitial(waittest.Context(t)); err != nil ||
		got.Remedy != serving.Topology.approvalRemedy(csr) {
		t.Errorf("checkInitial() = %+v, %v", got, err)
	}
	if _, err := serving.Obtain(waittest.Context(t), nil); err != nil ||
		!strings.Contains(recorded.Text(), "\noc adm certificate approve "+csr+"\n") {
		t.Errorf("Obtain() = %v; printed:\n%s", err, recorded.Text())
	}
	if _, err := serving.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Errorf("Obtain() with an approver = %v", err)
	}
	found, err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), csr,
		metav1.GetOptions{})
	if err != nil || len(found.Status.Conditions) == 0 {
		t.Errorf("the CSR was not approved: %v", err)
	}
}
