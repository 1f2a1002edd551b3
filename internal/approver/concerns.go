// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Concerns names the objects on which the decision on a CSR depends.
type Concerns struct {
	TokenID        string // of the join token, "" if the CSR has none
	Node           string // in the subject, "" if the subject is not a node's
	Requestor      string // the node that has submitted the CSR, "" if it was another user
	Addresses      []netip.Addr
	NeedsClientCAs bool // of the API server
}

// ConcernsOf returns what a decision on a CSR depends on.
func ConcernsOf(csr *kube.CSR) Concerns {
	request := parseCSR(csr)
	concerns := Concerns{
		TokenID: csr.Annotations[enrollment.AnnotationID], Node: request.node, Addresses: request.addresses,
		NeedsClientCAs: csr.Annotations[enrollment.AnnotationCertificate] != "",
	}
	if name, isNode := strings.CutPrefix(csr.Spec.Username, nodePrefix); isNode {
		concerns.Requestor = name
	}
	return concerns
}

// EnrolledNodes returns the names of the nodes whose enrollment the CSR may be for.
func (c Concerns) EnrolledNodes() []string {
	var names []string
	for _, name := range []string{c.Node, c.Requestor} {
		if enrollment.CheckNodeName(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// StateOf returns the state of a Node.
func StateOf(node *corev1.Node) *NodeState {
	state := &NodeState{Exists: true, IsReady: kube.IsReady(node), Created: node.CreationTimestamp.Time}
	if ready := kube.NodeCondition(node, corev1.NodeReady); ready != nil {
		state.LastReport = ready.LastHeartbeatTime.Time // kubelet's, even if the Node is Unknown
	}
	return state
}
