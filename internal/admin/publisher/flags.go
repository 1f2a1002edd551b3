// SPDX-License-Identifier: Apache-2.0

package publisher

import (
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Flags are the flags of a controller that make it publish the user data of the NodePools of a HostedCluster.
type Flags struct {
	HostedCluster string // "" to publish none
	Namespace     string // of the HostedCluster and its NodePools
	Kubeconfig    string // of the management cluster; "" for the service account of the pod
}

// Check returns a usage error for flags that exclude each other.
func (f Flags) Check() error {
	switch {
	case f.HostedCluster == "" && (f.Namespace != "" || f.Kubeconfig != ""):
		return report.UsageError("--nodepool-namespace and --management-kubeconfig require --hosted-cluster")
	case f.HostedCluster != "" && f.Namespace == "":
		return report.UsageError("--hosted-cluster requires --nodepool-namespace")
	case f.Kubeconfig == "-":
		return report.UsageError("--management-kubeconfig must be a file")
	}
	return nil
}

// Add adds a publisher to the manager of the hosted cluster, unless it would publish nothing. isHostedAccount reports
// whether the service account of the pod is the credential for the hosted cluster, so that it is none of the management
// cluster.
func (f Flags) Add(
	m manager.Manager, isHostedAccount bool, record func(nodePool string, at time.Time),
) error {
	if f.HostedCluster == "" {
		return nil
	}
	config, err := f.config(isHostedAccount)
	if err != nil {
		return err
	}
	management, err := cluster.Open(cluster.Management, config)
	if err != nil {
		return err
	}
	return m.Add(&Publisher{
		Management: management, Namespace: f.Namespace, HostedCluster: f.HostedCluster,
		CredentialRemedy: f.credentialRemedy(),
		Hosted:           m.GetClient(), Live: m.GetAPIReader(), Events: m.GetEventRecorder(v1alpha1.EventSource),
		Log: m.GetLogger().WithName("publisher"), Record: record, Interval: interval,
	})
}

// config returns the client configuration for the management cluster.
func (f Flags) config(isHostedAccount bool) (*rest.Config, error) {
	if f.Kubeconfig != "" {
		selected, err := cluster.Select(f.Kubeconfig, "", nil)
		if err != nil {
			return nil, err
		}
		return selected.Config, nil
	}
	config, err := rest.InClusterConfig() // client-go reads the token again when kubelet renews it
	if isHostedAccount || errors.Is(err, rest.ErrNotInCluster) {
		return nil, report.UsageError("--hosted-cluster requires --management-kubeconfig, except in a pod of the " +
			"management cluster with the --kubeconfig of the hosted cluster")
	}
	if err != nil {
		return nil, report.UsageError("reading the service account of the pod: %w", err)
	}
	return config, nil
}

// credentialRemedy returns the remedy for a credential of the management cluster that is rejected or has no permission.
func (f Flags) credentialRemedy() report.Remedy {
	if f.Kubeconfig == "" {
		return report.Remedyf("# grant the service account of the pod the permissions again:\n"+
			"hcp-node-admin controller install %s --namespace %s --publish --image IMAGE", report.ShellWord(f.HostedCluster),
			report.ShellWord(f.Namespace))
	}
	return report.Remedyf("# grant the user of %s the permissions of deploy/management-publish on the management "+
		"cluster, or replace the file and restart the controller", f.Kubeconfig)
}
