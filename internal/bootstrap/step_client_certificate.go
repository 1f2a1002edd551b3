// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"net/netip"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// obtainClientCertificate obtains the node's client certificate before kubelet
// starts.
func obtainClientCertificate(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	own := j.Session.Identity(j.Loaded.Payload, log, j.Plan.Registration)
	own.Ledger = j.Host.Ledger
	result, err := own.Obtain(ctx, ownApprover(j.Run, nil))
	if err != nil {
		return steps.Outcome{}, err
	}
	if renewal := own.CheckRenewal(time.Now()); renewal.Text != "" {
		log.Warn(renewal.Text, renewal.Remedy)
	}
	summary := "system:node:" + j.Run.State.NodeName + " valid until " + report.Timestamp(result.NotAfter)
	switch {
	case result.OnlyCluster:
		return steps.Changed("%s; updated the API server's URL and CAs in kubelet's kubeconfig", summary)
	case !result.Changed:
		return steps.Unchanged("%s", summary)
	}
	j.newCertificate = true
	return steps.Changed("%s (CSR %s)", summary, result.CSR)
}

// ownApprover returns a function that approves the node's own CSRs with the
// kubeconfig of --approve-with. It returns nil without that option; an
// administrator then approves the CSRs.
func ownApprover(run *plan.Run, addresses []netip.Addr) identity.Approver {
	if run.Approver == nil {
		return nil
	}
	return func(ctx context.Context, request identity.ApprovalRequest) error {
		want := approver.ExpectedNode{
			NodeName: run.State.NodeName, PublicKey: request.PublicKey, Addresses: enrollment.SinglePrefixes(addresses),
		}
		return identity.ApproveOwn(ctx, run.Approver, want, request.Name)
	}
}
