package approver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clients are the client CSRs for one node name. Any user who can read a CSR can submit a copy of
// the request with another CSR name or other usages. Several CSRs can therefore have the expected
// key, and some of them can differ from the one that kubelet submitted.
type clients struct {
	waiting  []*certificatesv1.CertificateSigningRequest // valid CSRs with the expected key
	approved []*certificatesv1.CertificateSigningRequest
	refused  error    // why a CSR with the expected key must not be approved
	others   []string // fingerprints of pending CSRs with another key
}

// clientsOf classifies the client CSRs for a node name.
func clientsOf(node ByHand, all []*certificatesv1.CertificateSigningRequest) clients {
	var c clients
	for _, csr := range all {
		in := lookInto(csr)
		if in.node != node.NodeName {
			continue
		}
		if in.fingerprint != node.Fingerprint {
			if !answered(csr) {
				c.others = append(c.others, in.fingerprint)
			}
			continue
		}
		by, denied := approvedBy(csr)
		switch err := (Want{NodeName: node.NodeName, PublicKey: in.key}).Client(csr); {
		case err != nil:
			c.refused = notToApprove(csr, err)
		case denied != nil:
			c.refused = denied
		case by != "":
			c.approved = append(c.approved, csr)
		default:
			c.waiting = append(c.waiting, csr)
		}
	}
	slices.Sort(c.others)
	c.others = slices.Compact(c.others)
	return c
}

// since returns the time of the first CSR with this key. An older serving CSR belongs to an
// earlier node with the same name.
func (c clients) since() metav1.Time {
	var first metav1.Time
	for _, csr := range slices.Concat(c.waiting, c.approved) {
		if first.IsZero() || csr.CreationTimestamp.Before(&first) {
			first = csr.CreationTimestamp
		}
	}
	return first
}

// clientByHand approves all valid CSRs with the expected key. It cannot determine which of them
// the node waits for, and a certificate is useless without the private key.
func (a *Approver) clientByHand(ctx context.Context, node ByHand, all []*certificatesv1.CertificateSigningRequest) (since metav1.Time, why string, err error) {
	c := clientsOf(node, all)
	d := Decision{Verdict: Approve, Node: node.NodeName, Key: node.Fingerprint}
	switch {
	case len(c.waiting) == 0 && len(c.approved) > 0:
		a.tellAnswered(c.approved[0], d)
		return c.since(), "", nil
	case len(c.waiting) == 0 && c.refused != nil:
		return since, "", c.refused
	case len(c.waiting) == 0:
		why = fmt.Sprintf("there is no client CSR of %s with the key %s", node.NodeName, node.Fingerprint)
		if len(c.others) > 0 {
			why += "; those that wait for this name have the keys " + strings.Join(c.others, " and ")
		}
		return since, why, nil
	}
	exists, err := nodeExists(ctx, a.connection, node.NodeName)
	switch {
	case err != nil:
		return since, "", err
	case exists && len(c.approved) > 0: // the node has joined with the approved CSR; the pending ones are copies
		a.tellAnswered(c.approved[0], d)
		return c.since(), "", nil
	case exists:
		return since, "", report.Fail(report.ApprovalMissing, "oc delete node "+node.NodeName+" # if its machine is gone or made anew; then run this again",
			"a Node %s is in the cluster already, so the CSR %s is not approved", node.NodeName, DisplayName(c.waiting[0].Name))
	}
	for _, csr := range c.waiting {
		if err := a.approveByHand(ctx, csr, d); err != nil {
			return since, "", err
		}
	}
	return c.since(), "", nil
}
