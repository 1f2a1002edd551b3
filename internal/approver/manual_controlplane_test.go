// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// awaitingServing begins the message of a manual approval that waits for a serving CSR.
const awaitingServing = "waiting for the serving CSR of "

func TestControlPlaneManualApproval(t *testing.T) {
	s := newTestCluster(t)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	wanted := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: key, Node: "hand"}
	foreign := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand"}.Submit(t)
	a := s.newApprover()
	recorded := &reporttest.Recorder{}
	node := ManualApproval{
		NodeName: "hand", Fingerprint: enrollment.Fingerprint(&key.PublicKey), Log: recorded.Log(),
	}

	err := a.ApproveManually(recorded.DeadlineAt(t, "waiting for a client CSR"), node)
	if err == nil || !strings.Contains(err.Error(), "waiting for a client CSR of hand with the key "+node.Fingerprint) ||
		!strings.Contains(err.Error(), enrollment.Fingerprint(&other.PublicKey)) {
		t.Errorf("ApproveManually() = %v", err)
	}
	csr := wanted.Submit(t)
	for range 2 { // the second call finds the CSR approved
		if err := a.ApproveManually(waittest.Context(t), node); err != nil ||
			csrtest.Conditions(t, csr) != approvedByAgent {
			t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, csr))
		}
	}
	late, waited := node, &reporttest.Recorder{}
	late.Addresses, late.Log = []netip.Prefix{netip.MustParsePrefix("192.0.2.60/32")}, waited.Log()
	err = a.ApproveManually(waited.DeadlineAt(t, awaitingServing), late)
	remedy := "hcp-node-admin approve hand --fingerprint " + node.Fingerprint + " --address 192.0.2.60"
	if err == nil || !strings.HasPrefix(err.Error(), "the client CSR of hand is approved, its serving CSR is not: timed "+
		"out "+awaitingServing+"hand") || report.CodeOf(err) != report.ApprovalMissing ||
		report.RemedyOf(err).Command() != remedy {
		t.Errorf("without a serving CSR: ApproveManually() = %v; remedy %q", err, report.RemedyOf(err))
	}
	if csrtest.Conditions(t, foreign) != "" {
		t.Errorf("the other key's CSR is %q", csrtest.Conditions(t, foreign))
	}
	if err := a.ApproveManually(waittest.Context(t),
		ManualApproval{NodeName: "hand", Fingerprint: "SHA256:abc"}); err == nil ||
		!strings.Contains(err.Error(), "not a fingerprint") {
		t.Errorf("ApproveManually() with an invalid fingerprint = %v", err)
	}
	testManualServingApproval(t, s, a)

	csrtest.CreateNode(t, "hand-there", "192.0.2.61")
	there := csrtest.ClientRequest{Client: csrtest.Bootstrapper(t), Key: other, Node: "hand-there"}.Submit(t)
	err = a.ApproveManually(waittest.Context(t),
		ManualApproval{NodeName: "hand-there", Fingerprint: enrollment.Fingerprint(&other.PublicKey)})
	if err == nil || !strings.Contains(err.Error(), "Node hand-there already exists in the cluster") ||
		csrtest.Conditions(t, there) != "" {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, there))
	}
}

// Copies of a node's request, with other CSR names or other usages, neither end the wait nor are
// approved. A serving CSR of an earlier node with the same name is ignored.
func TestControlPlaneManualApprovalIgnoresCopies(t *testing.T) {
	s := newTestCluster(t)
	a := s.newApprover()
	who := csrtest.NodeClient(t, "copied")
	serving := func() string {
		return submit(t, who, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
			nodeSubject("copied"), []string{"copied"}, net.ParseIP("192.0.2.66"))
	}
	former := serving()
	formerNode := ManualApproval{NodeName: "copied", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.66/32")}}
	if err := a.ApproveManually(waittest.Context(t), formerNode); err != nil ||
		csrtest.Conditions(t, former) != approvedByAgent {
		t.Fatalf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, former))
	}
	waittest.UntilNextSecond(t) // the newest CSR counts

	key := certtest.NewKey(t)
	copied := func(name string, usage certificatesv1.KeyUsage) string {
		return csrtest.ClientRequest{
			Client: csrtest.Bootstrapper(t),
			Key:    key,
			Node:   "copied",
			Name:   name,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		}.Submit(t)
	}
	first, own, last := copied("a-copy", certificatesv1.UsageServerAuth), copied("node-csr-copied",
		certificatesv1.UsageClientAuth), copied(
		"z-copy",
		certificatesv1.UsageClientAuth,
	)
	node, recorded := formerNode, &reporttest.Recorder{}
	node.Fingerprint, node.Log = enrollment.Fingerprint(&key.PublicKey), recorded.Log()
	done := make(chan error)
	go func() { done <- a.ApproveManually(waittest.Context(t), node) }()
	csrtest.AwaitConditions(t, own, approvedByAgent)
	waittest.UntilText(t, awaitingServing, recorded.Text)
	select {
	case err := <-done:
		t.Fatalf("ApproveManually() returned before the node requested its serving certificate: %v", err)
	default:
	}
	coming := serving()
	if err := <-done; err != nil || csrtest.Conditions(t, coming) != approvedByAgent ||
		csrtest.Conditions(t, last) != approvedByAgent ||
		csrtest.Conditions(t, first) != "" {
		t.Errorf("ApproveManually() = %v; the serving CSR is %q, the copies are %q and %q", err,
			csrtest.Conditions(t, coming), csrtest.Conditions(t, first), csrtest.Conditions(t, last))
	}

	other := certtest.NewKey(t)
	key = other
	copied("b-copy", certificatesv1.UsageServerAuth)
	node.Fingerprint = enrollment.Fingerprint(&other.PublicKey)
	if err := a.ApproveManually(waittest.Context(t), node); err == nil ||
		!strings.Contains(err.Error(), "CSR b-copy must not be approved: invalid usages: found") {
		t.Errorf("ApproveManually() with nothing but a copy = %v", err)
	}
}

// testManualServingApproval checks that a serving CSR submitted during the wait is approved, and that a CSR
// with another host's address is not.
func testManualServingApproval(t *testing.T, s *testCluster, a *Approver) {
	t.Helper()
	who := csrtest.NodeClient(t, "hand")
	serving := func(ip string) string {
		return submit(t, who, certtest.NewKey(t), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
			nodeSubject("hand"), []string{"hand"}, net.ParseIP(ip))
	}
	recorded := &reporttest.Recorder{}
	node := ManualApproval{
		NodeName:  "hand",
		Log:       recorded.Log(),
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.60/32"), netip.MustParsePrefix("192.0.2.62/32")},
	}
	done := make(chan error)
	go func() { done <- a.ApproveManually(waittest.Context(t), node) }()
	waittest.UntilText(t, awaitingServing, recorded.Text)
	good := serving("192.0.2.60")
	if err := <-done; err != nil || csrtest.Conditions(t, good) != approvedByAgent {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, good))
	}
	waittest.UntilNextSecond(t) // the newest CSR counts
	bad := serving("192.0.2.63")
	if err := a.ApproveManually(waittest.Context(t), node); err == nil ||
		!strings.Contains(err.Error(), "the address 192.0.2.63") ||
		csrtest.Conditions(t, bad) != "" {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, bad))
	}
	csrtest.CreateNode(t, "hand-other", "192.0.2.62")
	waittest.UntilNextSecond(t)
	shared := serving("192.0.2.62") // hand-other's kubelet can write any address into its own Node
	if err := a.ApproveManually(waittest.Context(t), node); err != nil ||
		csrtest.Conditions(t, shared) != approvedByAgent {
		t.Errorf("ApproveManually() = %v; the CSR is %q", err, csrtest.Conditions(t, shared))
	}
	if recorded := s.lastEvent(shared); !strings.Contains(recorded.Reason,
		"Node hand-other has the same address 192.0.2.62, which is in no enrollment of hand-other") {
		t.Errorf("the conflict is not reported: %+v", recorded)
	}
}
