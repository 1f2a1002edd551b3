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
		return "no Machine object stands for this host, so nobody approves it by itself"
	}
	return "on platform None nobody approves it by itself"
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
	return "# look at the csrsigning controller in the hosted control plane's kube-controller-manager"
}

// newCredentialRemedy returns the remedy that provides a new bootstrap credential.
func (t ClusterTopology) newCredentialRemedy() report.Remedy {
	if t.Standalone {
		return "# join again with --user-data or --endpoint: the machine-config server gives the current bootstrap " +
			"credential"
	}
	return "# get a fresh user-data stub and run join again: the payload brings a new bootstrap credential"
}
