// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clientCSRs are the client CSRs for one node name. Any user who can read a CSR can submit a copy of
// the request with another CSR name or other usages. Several CSRs can therefore have the expected
// key, and some of them can differ from the one that kubelet submitted.
type clientCSRs struct {
	pending   []*kube.CSR // valid CSRs with the expected key
	approved  []*kube.CSR
	refusal   error    // why a CSR with the expected key must not be approved
	otherKeys []string // fingerprints of pending CSRs with another key
}

// classifyClientCSRs classifies the client CSRs for a node name.
func classifyClientCSRs(node ManualApproval, all []*kube.CSR) clientCSRs {
	var c clientCSRs
	for _, csr := range all {
		in := parseCSR(csr)
		if in.node != node.NodeName {
			continue
		}
		if in.fingerprint != node.Fingerprint {
			if !IsDecided(csr) {
				c.otherKeys = append(c.otherKeys, in.fingerprint)
			}
			continue
		}
		by, denied := approvalReason(csr)
		switch err := (ExpectedNode{NodeName: node.NodeName, PublicKey: in.key}).CheckClient(csr); {
		case err != nil:
			c.refusal = notApprovable(csr, err)
		case denied != nil:
			c.refusal = denied
		case by != "":
			c.approved = append(c.approved, csr)
		default:
			c.pending = append(c.pending, csr)
		}
	}
	slices.Sort(c.otherKeys)
	c.otherKeys = slices.Compact(c.otherKeys)
	return c
}

// firstSubmitted returns the time of the first CSR with this key. An older serving CSR belongs to an
// earlier node with the same name.
func (c clientCSRs) firstSubmitted() metav1.Time {
	var first metav1.Time
	for _, csr := range slices.Concat(c.pending, c.approved) {
		if first.IsZero() || csr.CreationTimestamp.Before(&first) {
			first = csr.CreationTimestamp
		}
	}
	return first
}

// approveClientManually approves all valid CSRs with the expected key. It cannot determine which of them
// the node waits for, and a certificate is useless without the private key.
func (a *Approver) approveClientManually(
	ctx context.Context, node ManualApproval, all []*kube.CSR,
) (since metav1.Time, awaited string, err error) {
	c := classifyClientCSRs(node, all)
	d := Decision{Outcome: Approved, Node: node.NodeName, Key: node.Fingerprint}
	switch {
	case len(c.pending) == 0 && len(c.approved) > 0:
		a.emitAlreadyApproved(c.approved[0], d)
		return c.firstSubmitted(), "", nil
	case len(c.pending) == 0 && c.refusal != nil:
		return since, "", c.refusal
	case len(c.pending) == 0:
		awaited = fmt.Sprintf("waiting for a client CSR of %s with the key %s", node.NodeName, node.Fingerprint)
		if len(c.otherKeys) > 0 {
			awaited += "; pending CSRs for this name have the keys " + strings.Join(c.otherKeys, " and ")
		}
		return since, awaited, nil
	}
	state, err := a.nodeState(ctx, node.NodeName)
	switch {
	case err != nil:
		return since, "", err
	case state.Exists && len(c.approved) > 0: // the node has joined with the approved CSR; the pending ones are copies
		a.emitAlreadyApproved(c.approved[0], d)
		return c.firstSubmitted(), "", nil
	case state.Exists:
		return since, "", report.Fail(report.ApprovalMissing, report.Remedy("oc delete node "+node.NodeName+
			" # if its machine no longer exists or was reinstalled; then run this command again"),
			"Node %s already exists in the cluster, so CSR %s is not approved", node.NodeName, DisplayName(c.pending[0].Name))
	}
	for _, csr := range c.pending {
		if err := a.approveChecked(ctx, csr, d); err != nil {
			return since, "", err
		}
	}
	return c.firstSubmitted(), "", nil
}

// newestServingCSR returns the newest serving CSR that a node has submitted since a time, or nil.
// Creation times have a resolution of one second, so a CSR of the same second is included.
func newestServingCSR(name string, since metav1.Time, all []*kube.CSR) *kube.CSR {
	var newest *kube.CSR
	for _, csr := range all {
		if csr.Spec.Username != nodePrefix+name || csr.CreationTimestamp.Before(&since) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&csr.CreationTimestamp) {
			newest = csr
		}
	}
	return newest
}

func (a *Approver) approveServingManually(
	ctx context.Context, node ManualApproval, since metav1.Time, all []*kube.CSR,
) (awaited string, err error) {
	newest := newestServingCSR(node.NodeName, since, all)
	if newest == nil {
		return "waiting for the serving CSR of " + node.NodeName + "; kubelet submits it when its Node has addresses", nil
	}
	in := parseCSR(newest)
	d := Decision{Outcome: Approved, Node: node.NodeName, Key: in.fingerprint}
	switch by, denied := approvalReason(newest); {
	case denied != nil:
		return "", denied
	case by != "":
		a.emitAlreadyApproved(newest, d)
		return "", nil
	}
	if err := (ExpectedNode{NodeName: node.NodeName, Addresses: node.Addresses}).CheckServing(newest); err != nil {
		return "", notApprovable(newest, err)
	}
	nodesOf, err := a.nodesByAddress(ctx)
	if err != nil {
		return "", err
	}
	// The administrator gave the addresses, so a Node with the same address is only reported.
	d.Reason = in.conflict(node.NodeName, nil, Facts{NodesByAddress: nodesOf}).String()
	return "", a.approveChecked(ctx, newest, d)
}
