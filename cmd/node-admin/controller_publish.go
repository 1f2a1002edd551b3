// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/controller"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/metrics"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/publisher"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// publishFlags are the flags of controller run that make it publish the user data of NodePools.
type publishFlags struct {
	kubeconfig, namespace, hostedCluster string
}

func (o *publishFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.hostedCluster, "hosted-cluster", "",
		"publish the user data of the NodePools of the HostedCluster `NAME` in the hosted cluster (default: publish none)")
	flags.StringVar(&o.namespace, "nodepool-namespace", "",
		"with --hosted-cluster: `NAMESPACE` of the HostedCluster and its NodePools on the management cluster")
	flags.StringVar(&o.kubeconfig, "management-kubeconfig", "",
		"with --hosted-cluster: kubeconfig `FILE` of the management cluster (default the service account of the pod)")
}

func (o *publishFlags) check() error {
	switch {
	case o.hostedCluster == "" && (o.namespace != "" || o.kubeconfig != ""):
		return report.UsageError("--nodepool-namespace and --management-kubeconfig require --hosted-cluster")
	case o.hostedCluster != "" && o.namespace == "":
		return report.UsageError("--hosted-cluster requires --nodepool-namespace")
	case o.kubeconfig == "-":
		return report.UsageError("--management-kubeconfig must be a file")
	}
	return nil
}

// addPublisher adds a publisher to the manager of the hosted cluster. isHostedAccount reports whether the service
// account of the pod is the credential for the hosted cluster, so that it is none of the management cluster.
func (o *publishFlags) addPublisher(p *cli.Printer, m manager.Manager, isHostedAccount bool) error {
	if o.hostedCluster == "" {
		return nil
	}
	config, err := o.config(p, isHostedAccount)
	if err != nil {
		return err
	}
	management, err := cluster.Open(cluster.Management, config)
	if err != nil {
		return err
	}
	return m.Add(&publisher.Publisher{
		Management: management, Namespace: o.namespace, HostedCluster: o.hostedCluster,
		CredentialRemedy: o.credentialRemedy(),
		Hosted:           m.GetClient(), Live: m.GetAPIReader(), Events: m.GetEventRecorder(controller.EventSource),
		Log: m.GetLogger().WithName("publisher"), Record: metrics.RecordPublished, Interval: publisher.Interval,
	})
}

// config returns the client configuration for the management cluster.
func (o *publishFlags) config(p *cli.Printer, isHostedAccount bool) (*rest.Config, error) {
	if o.kubeconfig != "" {
		selected, err := cluster.Select(o.kubeconfig, "", p.In)
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
func (o *publishFlags) credentialRemedy() report.Remedy {
	if o.kubeconfig == "" {
		return report.Remedyf("# grant the service account of the pod the permissions again:\n"+
			"hcp-node-admin controller install %s --namespace %s --publish --image IMAGE", report.ShellWord(o.hostedCluster),
			report.ShellWord(o.namespace))
	}
	return report.Remedyf("# grant the user of %s the permissions of deploy/management-publish on the management "+
		"cluster, or replace the file and restart the controller", o.kubeconfig)
}
