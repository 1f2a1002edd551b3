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

// Problem returns why kubelet has no serving certificate for this host, and the
// remedy. It returns "" if kubelet has one.
func Problem(ctx context.Context, serving *identity.Serving) (text string, remedy report.Remedy) {
	if serving.Check() == identity.Valid {
		return "", ""
	}
	const without = "kubelet has no serving certificate for the current name and addresses of this host, so oc logs and oc exec fail for its pods: "
	next, err := serving.CheckInitial(ctx)
	if err != nil {
		return without + "checking its CSR: " + err.Error(), report.RemedyOf(err)
	}
	return without + next.Text, next.Remedy
}
