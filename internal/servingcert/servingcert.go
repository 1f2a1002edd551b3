// SPDX-License-Identifier: Apache-2.0

// Package servingcert checks kubelet's serving certificate on this host, by the rules of the
// approver.
package servingcert

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Subject is the subject of findings about the serving certificate.
const Subject = "serving certificate"

// Open returns the serving certificate of the node on this host.
func Open(node *node.Node, topology identity.ClusterTopology) (*identity.Serving, error) {
	addresses, err := machine.Addresses()
	want := approver.ExpectedNode{NodeName: node.Name, Addresses: addresses}
	return &identity.Serving{
		Conn:      node.Conn,
		NodeName:  node.Name,
		Log:       node.Log,
		Dir:       identity.PKIDirectory,
		Addresses: addresses,
		Validate:  want.CheckServing,
		Topology:  topology,
	}, err
}

// Findings returns a finding with the reason why kubelet has no serving certificate for this host. On platform None no
// controller approves its CSR, which kubelet submits if it has no certificate or if the host's address changes.
func Findings(ctx context.Context, serving *identity.Serving) []report.Finding {
	if serving.Check() == identity.Valid {
		return nil
	}
	next, err := serving.CheckInitial(ctx)
	if err != nil {
		next.Text, next.Remedy = "checking its CSR: "+err.Error(), report.RemedyOf(err)
	}
	return []report.Finding{{
		Severity: report.SeverityProblem,
		Reason:   report.ServingCertificateMissing,
		Subject:  Subject,
		Message: "kubelet has no serving certificate for the current name and addresses of this host, so oc logs and " +
			"oc exec fail for its pods: " + next.Text,
		Remedy: next.Remedy,
	}}
}
