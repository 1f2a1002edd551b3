// SPDX-License-Identifier: Apache-2.0

// Package approve reviews the CSRs of one node for an administrator, and approves those that the administrator
// confirms. The rules are those of package approver.
package approve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxPending limits the pending CSRs of one node that are reviewed. Any user of a bootstrap kubeconfig can create any
// number.
const maxPending = 10

// Flags are the flags of an approval.
type Flags struct {
	Fingerprint     string // of the key of the CSRs to approve; "" to review the pending CSRs
	AllowManagement bool   // the cluster can be a management cluster
}

// Run approves the CSRs of a node with the fingerprint, and returns them. Without a fingerprint, it returns the reviews
// of the pending CSRs of the node, or of the node of a CSR, and an error with the commands that approve them.
func (f Flags) Run(ctx context.Context, hosted *cluster.Cluster, name string) ([]approver.Review, error) {
	if _, err := hosted.CAHashes(); err != nil { // also identifies the cluster in enrollments
		return nil, err
	}
	if f.Fingerprint != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	if err := hosted.CheckApproval(ctx, f.AllowManagement); err != nil {
		return nil, err
	}
	if f.Fingerprint != "" {
		return Approve(ctx, hosted, name, f.Fingerprint)
	}
	node, err := nodeNamed(ctx, hosted, name)
	if err != nil {
		return nil, err
	}
	reviews, err := Review(ctx, hosted, node, "")
	if err != nil {
		return nil, err
	}
	return reviews, notApproved(node, reviews)
}

// notApproved returns the error for the CSRs of a node that were reviewed only.
func notApproved(node string, reviews []approver.Review) error {
	var commands []string
	for _, one := range reviews {
		if command := one.Command(); command != "" {
			commands = append(commands, string(command))
		}
	}
	switch {
	case len(reviews) == 0:
		return report.Fail(report.ApprovalMissing, report.Remedy("hcp-node-admin describe "+node), "no CSR of %s is "+
			"pending", node)
	case len(commands) == 0:
		return report.Fail(report.ApprovalMissing, "", "none of the pending CSRs of %s must be approved", node)
	case len(reviews) == 1:
		return report.Fail(report.ApprovalMissing, report.Remedy(commands[0]), "the CSR of %s was not approved", node)
	}
	return report.Fail(report.ApprovalMissing, report.Remedy(strings.Join(commands, "\n")),
		"%d CSRs of %s were not approved", len(reviews), node)
}

// nodeNamed returns the name of the node for which name is the name of a pending or decided CSR, or name itself if
// there is no such CSR.
func nodeNamed(ctx context.Context, c *cluster.Cluster, name string) (string, error) {
	csr := &kube.CSR{}
	exists, err := c.Find(ctx, client.ObjectKey{Name: name}, csr)
	switch {
	case err != nil:
		return "", err
	case !exists:
		return name, checkName(name)
	}
	node := nodeOf(csr)
	if enrollment.CheckNodeName(node) != nil {
		return "", report.Fail(report.ApprovalMissing, "", "CSR %s must not be approved: it is not for a node",
			approver.DisplayName(name))
	}
	return node, nil
}

// checkName returns a usage error for a text that cannot be the name of a node.
func checkName(node string) error {
	if err := enrollment.CheckNodeName(node); err != nil {
		return report.UsageError("%w", err)
	}
	return nil
}

// nodeOf returns the node for which a CSR counts: that which has submitted it, or that in its subject.
func nodeOf(csr *kube.CSR) string {
	content := approver.ParseCSR(csr)
	return cmp.Or(content.Requestor, content.Node)
}

// Review returns the newest pending CSRs of a node with the reasons for and against their approval, sorted by time. It
// also returns all CSRs of the node whose key has the fingerprint, unless it is "". It reads the NodeEnrollments of the
// node and of the Nodes with the same addresses, if the cluster serves them.
func Review(ctx context.Context, c *cluster.Cluster, node, fingerprint string) ([]approver.Review, error) {
	csrs, err := csrsOf(ctx, c, node, fingerprint)
	if err != nil || len(csrs) == 0 {
		return nil, err
	}
	facts, enrolled, err := gather(ctx, c, node, csrs)
	if err != nil {
		return nil, err
	}
	reviews := make([]approver.Review, 0, len(csrs))
	for _, csr := range csrs {
		reviews = append(reviews, approver.NewReview(csr, node, enrolled, facts))
	}
	return reviews, nil
}

// csrsOf returns the CSRs that Review is about.
func csrsOf(ctx context.Context, c client.Reader, node, fingerprint string) ([]*kube.CSR, error) {
	var confirmed, pending []*kube.CSR
	err := eachKubeletPage(ctx, c, func(page []kube.CSR) {
		for n := range page {
			csr := &page[n]
			switch {
			case node != nodeOf(csr):
			case fingerprint != "" && approver.Summarize(csr).Key == fingerprint:
				confirmed = append(confirmed, csr.DeepCopy()) // a copy, so that the page can be freed
			case !approver.IsDecided(csr):
				pending = append(pending, csr.DeepCopy())
			}
		}
		sortByTime(pending)
		pending = pending[max(0, len(pending)-maxPending):]
	})
	all := slices.Concat(pending, confirmed)
	sortByTime(all)
	return all, err
}

func sortByTime(all []*kube.CSR) {
	slices.SortStableFunc(all, func(a, b *kube.CSR) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

// Approve approves the pending CSRs of a node whose key has a fingerprint, and returns them, or those that are approved
// already. It approves none that breaks a rule. It uses no enrollment: the administrator has compared the fingerprint.
func Approve(
	ctx context.Context, c *cluster.Cluster, node, fingerprint string,
) (approved []approver.Review, err error) {
	if err := approver.CheckFingerprint(fingerprint); err != nil {
		return nil, report.Fail(report.Usage, "journalctl -u hcp-node-agent # on the node; or read the output of join",
			"%w", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // another client has changed a CSR
		reviews, err := Review(ctx, c, node, fingerprint)
		if err == nil {
			approved, err = approver.Confirm(reviews, node, fingerprint)
		}
		if err != nil {
			return err
		}
		for i := range approved {
			if approved[i].State != approver.CSRPending {
				continue
			}
			message := "hcp-node-admin approve: " + node + " manually, key " + fingerprint
			if err := c.UpdateSub(ctx, "approval", approver.WithApproval(approved[i].CSR, message)); err != nil {
				return err
			}
			approved[i].State = approver.CSRApproved
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return approved, nil
}
