// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxReviews limits the pending CSRs of one node that are reviewed. Any user of a bootstrap kubeconfig can create any
// number.
const maxReviews = 10

// NodeOf returns the name of the node for which name is the name of a pending or decided CSR, or name itself if there
// is no such CSR.
func (a *Approver) NodeOf(ctx context.Context, name string) (string, error) {
	csr, err := a.client.CSRs().Find(ctx, name)
	if err != nil {
		return "", a.explain(fmt.Errorf("getting CSR %s: %w", DisplayName(name), err))
	}
	if csr == nil {
		return name, nil
	}
	concerns := ConcernsOf(csr)
	node := cmp.Or(concerns.Requestor, concerns.Node)
	if enrollment.CheckNodeName(node) != nil {
		return "", report.Fail(report.ApprovalMissing, report.Remedy(commandFor("oc get csr ", name, " -o yaml")),
			"CSR %s must not be approved: it is not for a node", DisplayName(name))
	}
	return node, nil
}

// Review returns the pending CSRs of a node with the reasons for and against their approval, sorted by time. It reads
// the NodeEnrollments of the node and of the Nodes with the same addresses, if the cluster serves them.
func (a *Approver) Review(ctx context.Context, node string) ([]Review, error) {
	if err := a.checkHostedCluster(ctx); err != nil {
		return nil, a.explain(err)
	}
	pending, err := a.pendingCSRs(ctx, node)
	if err != nil || len(pending) == 0 {
		return nil, a.explain(err)
	}
	facts, enrolled, err := a.gather(ctx, node, pending)
	if err != nil {
		return nil, a.explain(err)
	}
	return lists.Map(pending, func(csr *kube.CSR) Review { return review(csr, node, enrolled, facts) }), nil
}

// pendingCSRs returns the newest pending CSRs of a node: client CSRs with its name, and serving CSRs that the node has
// submitted.
func (a *Approver) pendingCSRs(ctx context.Context, node string) ([]*kube.CSR, error) {
	var all []*kube.CSR
	err := a.eachKubeletPage(ctx, func(page []kube.CSR) {
		for n := range page {
			concerns := ConcernsOf(&page[n])
			if !IsDecided(&page[n]) && node == cmp.Or(concerns.Requestor, concerns.Node) {
				all = append(all, page[n].DeepCopy()) // a copy, so that the page can be freed
			}
		}
		slices.SortStableFunc(all, func(a, b *kube.CSR) int {
			return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		})
		all = all[max(0, len(all)-maxReviews):]
	})
	return all, err
}
