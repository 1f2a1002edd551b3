// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type controllerStatusDocument struct {
	report.TypeMeta
	HostedCluster string `json:"hostedCluster" doc:"HostedCluster as NAMESPACE/NAME"`
	Version       string `json:"version" doc:"version of this program"`
	install.Status
	report.CommandResult
}

func newControllerStatusCommand(p *cli.Printer) *cobra.Command {
	var o installFlags
	c := &cobra.Command{
		Use:         "status HOSTEDCLUSTER",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Print whether the controller of a hosted cluster works",
		Long: `Status prints the replicas of the controller, the one that holds the Lease and
its version, the published user data, and the last decisions on CSRs and
upgrades. The last line is the result. If the controller does not work, or a
NodePool has a problem, the exit code is 1, and the causes are printed with
their remedies.

Required permissions: get hostedclusters and secrets in the namespace of the
HostedCluster, get deployments and list pods in that of the controller, and
those of an administrator of the hosted cluster.`,
		Example: "  hcp-node-admin controller status hosted -n clusters",
		Args:    func(_ *cobra.Command, args []string) error { return o.clusters.nameHostedCluster(args, true) },
	}
	o.add(c, p)
	c.RunE = func(c *cobra.Command, _ []string) error { return o.printStatus(c.Context(), p) }
	return c
}

func (o *installFlags) printStatus(ctx context.Context, p *cli.Printer) error {
	err := o.CheckNamespace()
	if err == nil {
		err = o.Connect(ctx, &o.clusters.Clusters)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	status, err := o.Status(ctx, now)
	if err != nil {
		return err
	}
	err = report.FailWith(report.Failed, status.Problems)
	document := controllerStatusDocument{
		TypeMeta: report.Meta("ControllerStatus"), HostedCluster: o.HostedCluster.String(), Version: version,
		Status: *status, CommandResult: report.ResultOf(err),
	}
	return p.FinishPartly(err, document, func(w *report.Page) {
		status.Print(w, version, now)
		if err == nil {
			w.Item("", "the controller works")
		}
	})
}
