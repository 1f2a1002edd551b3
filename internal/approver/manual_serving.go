// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

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
	nodesOf, err := listNodesByAddress(ctx, a.connection)
	if err != nil {
		return "", err
	}
	// The administrator gave the addresses, so a Node with the same address is only reported.
	d.Reason = in.conflict(node.NodeName, newEnrollments(nil), Facts{NodesByAddress: nodesOf}).String()
	return "", a.approveChecked(ctx, newest, d)
}
