// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// createOfflineNode creates the Node of a host that reported an hour ago for the last time.
func createOfflineNode(t *testing.T, name string) {
	t.Helper()
	if _, err := kubetest.AdminClient(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
			LastHeartbeatTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// expireCertificate replaces the certificate of an identity by one for the same key that expired some
// time ago, and deletes its CSR, as the cluster does an hour after the approval.
func expireCertificate(t *testing.T, identity *Identity, csr string, ago time.Duration) *expiredPair {
	t.Helper()
	parsed, err := keyutil.ParsePrivateKeyPEM(kubetest.ReadFile(t, identity.clientCertificatePath()))
	if err != nil {
		t.Fatal(err)
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		t.Fatalf("the key is a %T", parsed)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	expiry := time.Now().Add(-ago)
	certificate := kubetest.Signer(t).Issue(t, key, &x509.Certificate{
		Subject: nodeSubject(identity.NodeName), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: expiry.Add(-time.Minute), NotAfter: expiry,
	})
	if err := writePair(identity.Dir, keyPair{certificate: certificate, key: keyPEM}, expiry); err != nil {
		t.Fatal(err)
	}
	if err := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests().Delete(t.Context(), csr,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return identity.readExpiredPair()
}

// A node that was off while its certificate expired gets a new one from a running controller, without
// its join token. Another host with the node's name does not, nor does the node after its
// enrollment was deleted.
func TestControlPlaneExpiredNodeIsApprovedAgain(t *testing.T) {
	identity, recorded := newIdentity(t, "expired")
	identity.Annotate = enroll(t, "expired")
	decision := runController(t)
	joined, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	identity.Annotate = nil // the join token is removed after the join
	createOfflineNode(t, "expired")

	expired := expireCertificate(t, identity, joined.CSR, time.Minute)
	if state, err := identity.Check(); err != nil || state != Expired {
		t.Fatalf("Check() = %s, %v, want an expired certificate", state, err)
	}
	renewed, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil || !renewed.Changed || renewed.Fingerprint != fingerprint(&expired.key.PublicKey) ||
		time.Until(renewed.NotAfter) < time.Hour {
		t.Fatalf("Obtain() = %+v, %v; printed:\n%s", renewed, err, recorded.Text())
	}
	event := decision(renewed.CSR)
	if event.Outcome != string(approver.Approved) ||
		!strings.Contains(event.Reason, "the node's previous client certificate") {
		t.Errorf("the decision on %s is %+v", renewed.CSR, event)
	}
	if err := identity.verifyStored(t.Context()); err != nil {
		t.Errorf("the API server does not accept the new certificate: %v", err)
	}

	// A host that has only the bootstrap kubeconfig and copies the certificate.
	thief, thiefLog := newIdentity(t, "expired")
	thief.Annotate = func(crypto.PublicKey) (map[string]string, error) {
		return map[string]string{enrollment.AnnotationCertificate: enrollment.EncodeCertificate(expired.certificate)}, nil
	}
	stolen, err := thief.Obtain(thiefLog.DeadlineAt(t, awaitingApproval), nil)
	if err == nil {
		t.Error("a copied certificate is accepted")
	}
	untilReason := func(csr, reason string) {
		t.Helper()
		waittest.UntilText(t, reason, func() string { return decision(csr).Reason })
	}
	untilReason(stolen.CSR, "found another key")

	err = kubetest.AdminClient(t).Discovery().RESTClient().Delete().AbsPath(enrollmentsPath, "expired").
		Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	untilReason(stolen.CSR, "no enrollment exists")
	expireCertificate(t, identity, renewed.CSR, time.Minute)
	revoked, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if err == nil {
		t.Error("without the enrollment, the certificate is accepted")
	}
	waittest.Until(t, "waiting for the decision without the enrollment", func() (any, bool) {
		return "", decision(revoked.CSR).Outcome != ""
	})
	if got := decision(revoked.CSR); got.Outcome != string(approver.Ignored) {
		t.Errorf("without the enrollment, the decision is %+v", got)
	}
	if !strings.Contains(recorded.Text(), "the CSR contains this node's expired certificate") {
		t.Errorf("printed:\n%s", recorded.Text())
	}

	// A person denies the CSR. The next run must use another key.
	setCSRCondition(t, revoked.CSR, "Denied")
	fresh, err := identity.Obtain(waittest.Context(t), manualApprover(t))
	if err != nil || fresh.CSR == revoked.CSR || fresh.Fingerprint == fingerprint(&expired.key.PublicKey) {
		t.Errorf("after the denial: %+v, %v", fresh, err)
	}
}

// A Node that was created after the certificate had expired is that of another machine, or was
// created by an administrator.
func TestControlPlaneExpiredCertificateOfAnEarlierNode(t *testing.T) {
	identity, recorded := newIdentity(t, "reused")
	identity.Annotate = enroll(t, "reused")
	decision := runController(t)
	joined, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	identity.Annotate = nil
	expireCertificate(t, identity, joined.CSR, time.Hour)
	createOfflineNode(t, "reused")
	refused, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if err == nil {
		t.Errorf("Obtain() = %+v", refused)
	}
	waittest.UntilText(t, "so it is not the Node of the machine with this certificate", func() string {
		return decision(refused.CSR).Reason
	})
}

// Any user of a bootstrap kubeconfig can create a CSR with the name that kubelet derives from the
// node's key, or with the name of a CSR of the node that was deleted. The node must still be
// approved by its expired certificate.
func TestControlPlaneOccupiedCSRNames(t *testing.T) {
	identity, recorded := newIdentity(t, "occupied")
	identity.Annotate = enroll(t, "occupied")
	var joined Result
	if !t.Run("join", func(t *testing.T) {
		runController(t)
		var err error
		if joined, err = identity.Obtain(waittest.Context(t), nil); err != nil {
			t.Fatal(err)
		}
	}) {
		return
	}
	identity.Annotate = nil
	createOfflineNode(t, "occupied")
	csrs := kubetest.AdminClient(t).CertificatesV1().CertificateSigningRequests()
	first, err := csrs.Get(t.Context(), joined.CSR, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expired := expireCertificate(t, identity, joined.CSR, time.Minute)
	bootstrapper, err := identity.reconnectBootstrap()
	if err != nil {
		t.Fatal(err)
	}
	occupy := func(name string) {
		t.Helper()
		if _, err := bootstrapper.Client.CSRs().Create(t.Context(), &kube.CSR{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: first.Spec.Request, SignerName: first.Spec.SignerName, Usages: first.Spec.Usages,
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	occupy(joined.CSR)
	pending, err := identity.Obtain(recorded.DeadlineAt(t, awaitingApproval), nil)
	if report.CodeOf(err) != report.ApprovalMissing || pending.CSR == joined.CSR {
		t.Fatalf("Obtain() without a controller = %+v, %v", pending, err)
	}
	if err := csrs.Delete(t.Context(), pending.CSR, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	occupy(pending.CSR)

	decision := runController(t)
	renewed, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil || renewed.CSR == pending.CSR || renewed.Fingerprint != fingerprint(&expired.key.PublicKey) {
		t.Errorf("Obtain() = %+v, %v; decisions %+v, %+v; printed:\n%s", renewed, err, decision(pending.CSR),
			decision(renewed.CSR), recorded.Text())
	}
}
