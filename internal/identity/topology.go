// SPDX-License-Identifier: Apache-2.0

package identity

import "github.com/hcp-node-agent/hcp-node-agent/internal/report"

// ClusterTopology is the kind of cluster that a node belongs to. It determines the
// wording of messages. The zero value is a hosted cluster's NodePool of
// platform None.
type ClusterTopology struct{ Standalone bool }

// ManualApprovalHint returns a clause that states why no controller approves a CSR. On a
// standalone cluster the machine approver identifies hosts by their Machine
// objects (cluster-machine-approver), and no controller creates a Machine for a
// host like this.
func (t ClusterTopology) ManualApprovalHint() string {
	if t.Standalone {
		return "this host has no Machine object, so no controller approves it"
	}
	return "on platform None no controller approves it"
}

// approvalRemedy returns how an administrator approves a CSR, and why.
func (t ClusterTopology) approvalRemedy(csr string) report.Remedy {
	return report.Remedyf("# %s; run %s:\noc adm certificate approve %s", t.ManualApprovalHint(), t.CommandLocation(), csr)
}

// CommandLocation returns where an administrator runs commands.
func (t ClusterTopology) CommandLocation() string {
	if t.Standalone {
		return "on the cluster"
	}
	return "on the hosted cluster"
}

// SignerRemedy returns the remedy for an approved CSR that is not issued.
func (t ClusterTopology) SignerRemedy() report.Remedy {
	if t.Standalone {
		return "oc get clusteroperator kube-controller-manager # its csrsigning controller"
	}
	return "# check the csrsigning controller in the hosted control plane's kube-controller-manager"
}

// newCredentialRemedy returns the remedy that provides a new bootstrap credential.
func (t ClusterTopology) newCredentialRemedy() report.Remedy {
	if t.Standalone {
		return "# join again with --user-data or --endpoint: the machine-config server provides the current " +
			"bootstrap credential"
	}
	return "# run join again with current user data: its payload contains a new bootstrap credential"
}
