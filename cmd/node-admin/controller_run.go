// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/controller"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/metrics"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/publisher"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// controllerRunOptions are the flags of controller run.
type controllerRunOptions struct {
	cluster                      clusterFlags
	publish                      publisher.Flags
	namespace                    string
	probeAddress, metricsAddress string
	allowManagementCluster       bool
}

func newControllerRunCommand(p *cli.Printer) *cobra.Command {
	var o controllerRunOptions
	c := &cobra.Command{
		Use:         "run",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Approve the CSRs of enrolled nodes, and report their state",
		Long: `Run runs until it is stopped, usually as a Deployment. It approves every
CSR that proves the join token of a NodeEnrollment in the hosted cluster, and no
other, and writes the state of each node to the status of its NodeEnrollment.

With --hosted-cluster, it also publishes the current user data of the NodePools
of platform None: it reads them from the management cluster, and writes one
Secret per NodePool to the namespace ` + v1alpha1.Namespace + ` of the hosted cluster.

Nothing is ever denied. A join token is valid for one key, which the spec of
the NodeEnrollment records. Any number of replicas can run; the one that holds
the Lease ` + controller.LeaseName + ` works.`,
		Example: "  hcp-node-admin controller run --kubeconfig hosted.kubeconfig",
		Args:    cli.NoArgs,
	}
	flags := c.Flags()
	o.cluster.addKubeconfig(c, p, "hosted")
	flags.StringVarP(&o.namespace, "namespace", "n", v1alpha1.Namespace, "`NAMESPACE` of the Lease")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", "",
		"serve /readyz and /livez over HTTP at `ADDRESS`, such as :8081")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "",
		"serve /metrics over HTTP at `ADDRESS`, such as :8080")
	flags.StringVar(&o.publish.HostedCluster, "hosted-cluster", "",
		"publish the user data of the NodePools of the HostedCluster `NAME` in the hosted cluster (default: publish none)")
	flags.StringVar(&o.publish.Namespace, "nodepool-namespace", "",
		"with --hosted-cluster: `NAMESPACE` of the HostedCluster and its NodePools on the management cluster")
	flags.StringVar(&o.publish.Kubeconfig, "management-kubeconfig", "",
		"with --hosted-cluster: kubeconfig `FILE` of the management cluster (default the service account of the pod)")
	flags.BoolVar(&o.allowManagementCluster, "allow-management-cluster", false,
		"approve nodes of a cluster that serves HostedClusters itself")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), p) }
	return c
}

func (o *controllerRunOptions) run(ctx context.Context, p *cli.Printer) error {
	p.Program.SelectCluster = nil // the files are those of a pod, and some remedies are for the management cluster
	if err := o.publish.Check(); err != nil {
		return err
	}
	config, hashes, err := o.cluster.Controller()
	if err != nil {
		return err
	}
	logger := newLogger(p)
	klog.SetLogger(logger)
	ctrllog.SetLogger(logger)
	if err := connect.CheckController(ctx, config, o.allowManagementCluster); err != nil {
		return err
	}
	m, err := controller.New(controller.Options{
		Config: config, ClusterCA: hashes, Namespace: o.namespace, Logger: logger,
		ProbeAddress: o.probeAddress, MetricsAddress: o.metricsAddress,
		Version: version,
	})
	if err != nil {
		return err
	}
	if err := o.publish.Add(m, o.cluster.IsServiceAccount(), metrics.RecordPublished); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("running the controllers: %w", err)
	}
	return nil
}

// newLogger returns a logger for a program that runs until it is stopped.
func newLogger(p *cli.Printer) logr.Logger {
	var handler slog.Handler = slog.NewTextHandler(p.Err, nil)
	if p.JSON {
		handler = slog.NewJSONHandler(p.Err, nil)
	}
	return logr.FromSlogHandler(handler)
}
