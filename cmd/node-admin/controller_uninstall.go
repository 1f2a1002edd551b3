// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// controllerUninstallOptions are the flags of controller uninstall.
type controllerUninstallOptions struct {
	installFlags

	withCRD, force bool
}

func newControllerUninstallCommand(p *cli.Printer) *cobra.Command {
	var o controllerUninstallOptions
	c := &cobra.Command{
		Use:         "uninstall HOSTEDCLUSTER",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused),
		Short:       "Remove the controller of a hosted cluster",
		Long: `Uninstall removes what controller install has created, in both clusters. The
credential of the controller is invalid afterwards. The custom resource
definitions, with all NodeEnrollments, and the namespace hcp-node-admin of the
hosted cluster remain, unless --crd is given. Nodes that have joined remain too,
but an administrator must approve their serving certificates.

If the HostedCluster no longer exists, it removes the controller from the
management cluster.`,
		Example: "  hcp-node-admin controller uninstall hosted -n clusters",
		Args:    func(_ *cobra.Command, args []string) error { return o.clusters.nameHostedCluster(args, true) },
	}
	o.add(c, p)
	flags := c.Flags()
	o.addDryRun(flags)
	flags.BoolVar(&o.withCRD, "crd", false,
		"also delete the custom resource definitions and the namespace of the hosted cluster; refused while "+
			"NodeEnrollments exist")
	flags.BoolVar(&o.force, "force", false, "with --crd: delete all NodeEnrollments too")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), p) }
	return c
}

func (o *controllerUninstallOptions) run(ctx context.Context, p *cli.Printer) error {
	if o.force && !o.withCRD {
		return report.UsageError("--force requires --crd")
	}
	o.Log = report.Log{Sink: p.Sink, Step: "controller"}
	err := o.CheckNamespace()
	if err == nil {
		err = o.ConnectToUninstall(ctx, &o.clusters.Clusters)
	}
	if err != nil {
		return err
	}
	changes, remaining, err := o.Uninstall(ctx, o.withCRD, o.force)
	document := controllerDocument{
		TypeMeta:      report.Meta("ControllerUninstallResult"),
		HostedCluster: o.HostedCluster.String(), DryRun: o.DryRun, Changes: changes, Remaining: remaining,
		CommandResult: report.ResultOf(err),
	}
	return p.Finish(err, document, func(w *report.Page) {
		title := fmt.Sprintf("HostedCluster %s: the controller was removed", document.HostedCluster)
		if len(document.Changes) == 0 {
			title = fmt.Sprintf("HostedCluster %s has no controller", document.HostedCluster)
		}
		printChanges(w, document, title)
		o.printRemaining(w, p.Program, document.Remaining)
	})
}

// printRemaining prints what remains, and the command that removes it.
func (o *controllerUninstallOptions) printRemaining(
	w *report.Page, program cli.Program, remaining []install.Remaining,
) {
	if len(remaining) == 0 {
		return
	}
	w.Item("", "in the hosted cluster remain:")
	force := ""
	for _, one := range remaining {
		text := one.Kind + " " + one.Name
		if one.Objects > 0 {
			text += ", with " + one.Count()
			force = " --force"
		}
		w.Item("  ", text)
	}
	w.Remedy(program.Remedy(report.Remedy("# remove them too, with all NodeEnrollments:\n" +
		"hcp-node-admin controller uninstall " + o.clusters.HostedCluster + " --crd" + force)))
}
