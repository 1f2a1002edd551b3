package kubelet

// Place is what kind of cluster a node is of, for what is said to people. The
// zero value is a hosted cluster's NodePool of platform None.
type Place struct{ Standalone bool }

// Nobody says who approves a CSR by itself. On a standalone cluster the machine
// approver knows the hosts by their Machine objects (cluster-machine-approver),
// and nobody makes one for a host like this.
func (p Place) Nobody() string {
	if p.Standalone {
		return "no Machine object stands for this host, so nobody approves it by itself"
	}
	return "on platform None nobody approves it by itself"
}

// OnCluster is where an administrator types commands.
func (p Place) OnCluster() string {
	if p.Standalone {
		return "on the cluster"
	}
	return "on the hosted cluster"
}

// Signer is what to do where an approved CSR is not issued.
func (p Place) Signer() string {
	if p.Standalone {
		return "oc get clusteroperator kube-controller-manager # its csrsigning controller"
	}
	return "# look at the csrsigning controller in the hosted control plane's kube-controller-manager"
}

// renewed is what brings a new bootstrap credential.
func (p Place) renewed() string {
	if p.Standalone {
		return "# join again with --user-data or --endpoint: the machine-config server gives the current bootstrap credential"
	}
	return "# get a fresh user-data stub and run join again: the payload brings a new bootstrap credential"
}
