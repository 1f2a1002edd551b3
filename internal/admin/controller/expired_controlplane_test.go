// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"crypto/ecdsa"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// expiredRequest returns the client CSR of a node whose client certificate has expired.
func expiredRequest(t *testing.T, node string, key *ecdsa.PrivateKey, expiry time.Time) csrtest.ClientRequest {
	t.Helper()
	return csrtest.ClientRequest{
		Client: csrtest.Bootstrapper(t), Key: key, Node: node, Name: csrtest.Name(t, key, node),
		Annotations: csrtest.AnnotateCertificate(t, kubetest.Signer(t), key, x509.Certificate{
			Subject: csrtest.Subject(node), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			NotBefore: time.Now().Add(-5 * time.Minute), NotAfter: expiry, // after the token was used, within the skew
		}),
	}
}

// A node that was off while its client certificate expired gets another one for the same key, as soon as its Node is no
// longer Ready. The join token is still bound to the first key.
func TestControlPlaneExpiredCertificate(t *testing.T) {
	c := startController(t)
	first, key := csrtest.SubmitWithToken(t, enroll(t, "slept"))
	c.awaitApproved(first)
	csrtest.Delete(t, first)
	csrtest.CreateNode(t, "slept")
	setReady(t, "slept", corev1.ConditionTrue, "KubeletReady", "")
	used := getEnrollment(t, "slept").Spec.UsedBy
	csr := expiredRequest(t, "slept", key, time.Now().Add(-time.Minute)).Submit(t)
	c.awaitDecision(csr, approver.Refused, "Node slept is Ready, so its client certificate has not expired")
	checkPending(t, csr)
	setReady(t, "slept", corev1.ConditionUnknown, "NodeStatusUnknown", "")
	c.awaitApproved(csr)
	if last := c.last(csr); !strings.Contains(last.Reason, "it has the key of the node's previous client certificate") {
		t.Errorf("the decision is %+v", last)
	}
	if diff := cmp.Diff(used, getEnrollment(t, "slept").Spec.UsedBy); used == nil || diff != "" {
		t.Errorf("used again (-want +got):\n%s", diff)
	}
}

// By the clock of this host, the certificate expires in a minute. The decision is made again without a change.
func TestControlPlaneCertificateExpiresSoon(t *testing.T) {
	c := startController(t)
	first, key := csrtest.SubmitWithToken(t, enroll(t, "clock"))
	c.awaitApproved(first)
	c.stop()
	csrtest.Delete(t, first)
	csrtest.CreateNode(t, "clock")
	csr := expiredRequest(t, "clock", key, time.Now().Add(time.Hour)).Submit(t)
	_, r, _ := startReconciler(t)
	for _, want := range []time.Duration{recheckDelay, certificateDelay, certificateDelay} {
		result, err := r.Reconcile(t.Context(), requestFor(csr))
		if err != nil || result.RequeueAfter != want {
			t.Errorf("Reconcile() = %+v, %v, want a decision after %s", result, err, want)
		}
	}
	checkPending(t, csr)
}
