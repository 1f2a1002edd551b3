// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Options configure an Approver.
type Options struct {
	Kubeconfig []byte // of the hosted cluster; not stored
	// AllowManagementCluster permits a kubeconfig of a cluster that serves HostedClusters.
	AllowManagementCluster bool

	OnEvent func(Event) // receives every approval
}

// Event is an approval of a CSR.
type Event struct {
	Time    time.Time `json:"time" doc:"time of the event"`
	Outcome Outcome   `json:"outcome" doc:"decision on the CSR"`
	Node    string    `json:"node,omitempty" doc:"name of the node that the CSR is for"`
	CSR     string    `json:"csr,omitempty" doc:"name of the CSR"`
	Signer  string    `json:"signer,omitempty" doc:"signer of the CSR"`
	Key     string    `json:"key,omitempty" doc:"fingerprint of the CSR's public key"`
	Reason  string    `json:"reason,omitempty" doc:"note about the approval"`
}

// Approver reviews and approves the CSRs of one node for an administrator.
type Approver struct {
	connection
	options Options
}

// Open creates an approver from a kubeconfig. It sends no requests to the cluster.
func Open(options Options) (*Approver, error) {
	connection, err := connect(options.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return &Approver{connection: connection, options: options}, nil
}

// Maximum lengths of reported texts, parts of which are chosen by the requestor.
const (
	maxNodeNameLength = 253 // of a Node name
	maxReasonLength   = 1000
)

func (a *Approver) emit(csr *kube.CSR, d Decision) {
	a.options.OnEvent(Event{
		Time:    time.Now().UTC(),
		Outcome: d.Outcome,
		Node:    truncateTo(maxNodeNameLength, d.Node),
		CSR:     csr.Name,
		Signer:  csr.Spec.SignerName,
		Key:     d.Key,
		Reason:  truncateTo(maxReasonLength, d.Reason),
	})
}
