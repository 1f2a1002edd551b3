// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlaneEnrolledNodeGetsCertificates(t *testing.T) {
	c := startController(t)
	token := enroll(t, "enrolled", "192.0.2.20", "2001:db8:7::/64")
	csr, key := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	csrtest.AwaitIssued(t, csr)
	enrolled := getEnrollment(t, "enrolled")
	if used := enrolled.Spec.UsedBy; used == nil || used.Key != enrollment.Fingerprint(&key.PublicKey) ||
		used.At.IsZero() || enrolled.Status.ClientCSR != csr {
		t.Errorf("used by %+v, the status is %+v", used, enrolled.Status)
	}

	serving := csrtest.ServingRequest{Node: "enrolled", Addresses: []string{"192.0.2.20", "2001:db8:7::9"}}
	first := serving.Submit(t)
	c.awaitApproved(first)
	csrtest.CreateNode(t, "enrolled", "192.0.2.20") // the node's own Node
	renewal := serving.Submit(t)
	c.awaitApproved(renewal)
	if got := getEnrollment(t, "enrolled").Status.ServingCSR; got != renewal {
		t.Errorf("the status names the serving CSR %q, want %q", got, renewal)
	}
	serving.Addresses = []string{"2001:db8:8::9"}
	c.awaitDecision(serving.Submit(t), approver.Refused, "it requests 2001:db8:8::9; the node has")

	// A restarted controller must change nothing.
	c.stop()
	before := getEnrollment(t, "enrolled")
	again := startController(t)
	marker, _ := csrtest.SubmitWithToken(t, enroll(t, "enrolled-marker"))
	again.awaitApproved(marker)
	for _, name := range []string{csr, first, renewal} {
		if all := again.decisions(name); len(all) > 0 {
			t.Errorf("decided again: %+v", all)
		}
	}
	if after := getEnrollment(t, "enrolled"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("a restart has changed the status from %+v to %+v", before.Status, after.Status)
	}
	if all := append(c.errors(), again.errors()...); len(all) > 0 {
		t.Errorf("logged: %+v", all)
	}
}

// A host can request its certificate before its NodeEnrollment exists. Other CSRs for the node cannot prevent the
// approval.
func TestControlPlaneLateEnrollment(t *testing.T) {
	c := startController(t)
	for range maxWaitingCSRsPerNode + 1 {
		csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: certtest.NewKey(t), Node: "late"}.Submit(t)
	}
	waittest.Until(t, "waiting for the decisions on the other CSRs", func() (any, bool) {
		count := c.count("late")
		return count, count == maxWaitingCSRsPerNode
	})
	token, object := newEnrollment(t, "late", csrtest.ClusterCA(t))
	csr, _ := csrtest.SubmitWithToken(t, token)
	tokenAlone, objectAlone := newEnrollment(t, "late-alone", csrtest.ClusterCA(t))
	alone, _ := csrtest.SubmitWithToken(t, tokenAlone)
	c.awaitDecision(alone, approver.Ignored, "no enrollment exists for its join token")
	checkPending(t, csr)
	create(t, object)
	create(t, objectAlone)
	c.awaitApproved(csr)
	c.awaitApproved(alone)
	csrtest.AwaitIssued(t, csr)
}

// After a Node is deleted, the CSR of its reinstalled host is approved without a new CSR or a restart.
func TestControlPlaneDeletedNodeCanRejoin(t *testing.T) {
	c := startController(t)
	csrtest.CreateNode(t, "reborn", "192.0.2.90")
	csr, _ := csrtest.SubmitWithToken(t, enroll(t, "reborn"))
	refused := c.awaitDecision(csr, approver.Refused, "Node reborn already exists in the cluster")
	if got, want := refused.Remedy, "oc delete node reborn"; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("the remedy is %q", got)
	}
	checkPending(t, csr)
	csrtest.DeleteNode(t, "reborn")
	c.awaitApproved(csr)
	if all := c.decisions(csr); len(all) != 2 {
		t.Errorf("reported %+v", all)
	}
}

// Without its NodeEnrollment, neither a host with the join token nor the node gets a certificate.
func TestControlPlaneDeletedEnrollment(t *testing.T) {
	c := startController(t)
	token := enroll(t, "withdrawn", "192.0.2.91")
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitApproved(csr)
	unused := enroll(t, "withdrawn-unused")
	deleteEnrollment(t, "withdrawn")
	deleteEnrollment(t, "withdrawn-unused")
	for _, token := range []*enrollment.Token{token, unused} {
		csr, _ := csrtest.SubmitWithToken(t, token)
		c.awaitDecision(csr, approver.Ignored, "no enrollment exists for its join token")
		checkPending(t, csr)
	}
	serving := csrtest.ServingRequest{Node: "withdrawn", Addresses: []string{"192.0.2.91"}}.Submit(t)
	c.awaitDecision(serving, approver.Ignored, `no enrollment exists for node "withdrawn"`)
	checkPending(t, serving)
}

// A NodeEnrollment that waits for its finalizers admits no host.
func TestControlPlaneEnrollmentBeingDeleted(t *testing.T) {
	c := startController(t)
	token, object := newEnrollment(t, "finalized", csrtest.ClusterCA(t))
	object.Finalizers = []string{"example.com/audit"}
	create(t, object)
	admin := adminClient(t)
	if err := admin.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	defer func() {
		object := getEnrollment(t, "finalized")
		before := object.DeepCopy()
		object.Finalizers = nil
		if err := admin.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
	}()
	csr, _ := csrtest.SubmitWithToken(t, token)
	c.awaitDecision(csr, approver.Ignored, "no enrollment exists for its join token")
	checkPending(t, csr)
}
