// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
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
		Args:    func(_ *cobra.Command, args []string) error { return o.management.nameHostedCluster(args, true) },
	}
	o.add(c, p)
	c.ValidArgsFunction = completeOne(o.management.complete(nodepool.HostedClusters))
	c.RunE = func(c *cobra.Command, _ []string) error {
		return o.printStatus(c.Context(), p, o.management.HostedCluster)
	}
	return c
}

func (o *installFlags) printStatus(ctx context.Context, p *cli.Printer, hostedCluster string) error {
	if err := o.check(); err != nil {
		return err
	}
	installer, err := o.connect(ctx, p, hostedCluster)
	if err != nil {
		return err
	}
	now := time.Now()
	status, err := installer.Status(ctx, now)
	if err != nil {
		return err
	}
	err = report.FailWith(report.Failed, status.Problems)
	document := controllerStatusDocument{
		TypeMeta: report.Meta("ControllerStatus"), HostedCluster: installer.HostedCluster.String(), Version: version,
		Status: *status, CommandResult: report.ResultOf(err),
	}
	return p.FinishPartly(err, document, func(w *report.Page) {
		printControllerStatus(w, document, now)
		if err == nil {
			w.Item("", "the controller works")
		}
	})
}

func printControllerStatus(w *report.Page, document controllerStatusDocument, now time.Time) {
	line := func(label, format string, args ...any) {
		w.Item(fmt.Sprintf("%-11s", label+":"), report.EscapeLine(fmt.Sprintf(format, args...)))
	}
	ago := func(at time.Time) string { return duration.HumanDuration(max(0, now.Sub(at))) + " ago" }
	if document.Cluster != "" {
		line("replicas", "%d of %d ready, in the %s cluster, namespace %s", document.Ready, document.Replicas,
			document.Cluster, document.Namespace)
		line("image", "%s", document.Image)
	}
	if leader := document.Leader; leader.Holder != "" && leader.Renewed != nil {
		line("leader", "%s, renewed %s", leader.Holder, ago(*leader.Renewed))
	}
	if other := document.Leader.Version; other != "" && other != document.Version {
		line("version", "%s; this program has version %s", other, document.Version)
	} else {
		line("version", "%s", document.Version)
	}
	for _, one := range document.Published {
		text := fmt.Sprintf("%s, release %s, configuration %s, since %s (%s)", one.NodePool, one.Release, one.Config,
			report.Timestamp(one.Since), ago(one.Since))
		if one.Expires != nil {
			text += ", valid until " + report.Timestamp(*one.Expires)
		}
		line("published", "%s", text)
	}
	if len(document.Published) == 0 {
		line("published", "no user data")
	}
	for _, event := range document.Decisions {
		line("decision", "%s, %s of %s: %s", ago(event.Time), event.Reason, event.Name, event.Message)
	}
}
