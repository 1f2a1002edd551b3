// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
)

// ServingCertificate returns the serving certificate of the Node on this host. Its CSRs are checked by the
// rules of the approver.
func ServingCertificate(own *node.Node, topology identity.ClusterTopology) (*identity.Serving, error) {
	addresses, err := machine.Addresses()
	if err != nil {
		return nil, err
	}
	return &identity.Serving{
		Conn:      own.Conn,
		NodeName:  own.Name,
		Log:       own.Log,
		Dir:       identity.PKIDirectory,
		Addresses: addresses,
		Validate: approver.ExpectedNode{
			NodeName: own.Name, Addresses: enrollment.SinglePrefixes(addresses),
		}.CheckServing,
		Topology: topology,
	}, nil
}
