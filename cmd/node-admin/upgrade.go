// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// upgradeOptions are the flags of upgrade.
type upgradeOptions struct {
	fleet.RolloutFlags

	cluster clusterFlags
	stop    bool
	output  *string
	isSet   func(name string) bool
}

func newUpgradeCommand(p *cli.Printer) *cobra.Command {
	var o upgradeOptions
	c := &cobra.Command{
		Use:         "upgrade NODEPOOL",
		SuggestFor:  []string{"rollout", "update"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Show, start and control the upgrade of the nodes of a NodePool",
		Long: `Upgrade prints the state of the upgrade of a NodePool: releases, counts, pace,
window, limits, and the nodes in progress with their steps. Without a flag that
names a change, it changes nothing.

With --start, it creates the NodeRollout. From then on, the controller gives
nodes whose configuration differs from that of the NodePool a slot, one after
the other, and the agent of a node with a slot upgrades the node: also after a
change of the NodePool in the future, and back to a former release.

A node is drained before its upgrade. If the upgrade fails, the agent restores
the node, and the rollout stops after --max-failures nodes. A failed upgrade is
repeated only with --retry.

The user data of the NodePool must be published in the hosted cluster.` + describePermissions(upgradePermissions()),
		Example: "  hcp-node-admin upgrade workers\n" +
			"  hcp-node-admin upgrade workers --start\n" +
			"  hcp-node-admin upgrade workers --start --max-unavailable 10% \\\n" +
			"      --window '0 1 * * SAT' --window-duration 4h\n" +
			"  hcp-node-admin upgrade workers --pause\n" +
			"  hcp-node-admin upgrade workers --retry worker-7.example.com",
		Args: requireOne("the name of one NodePool is required"),
	}
	flags := c.Flags()
	o.cluster.add(c, p)
	o.addFlags(flags)
	o.output = p.BindOutput(c, "output `FORMAT`: text; json or yaml, the NodeRollout; or name", "text", "json", "yaml",
		"name")
	c.MarkFlagsMutuallyExclusive("pause", "resume", "stop")
	c.MarkFlagsMutuallyExclusive("start", "stop")
	c.ValidArgsFunction = completeOne(o.cluster.completeFleet(fleet.Client.NodePools))
	cli.CompleteFlag(c, "retry", o.cluster.completeFleet(fleet.Client.NodeNames))
	cli.CompleteFlag(c, "end-slot", o.cluster.completeFleet(fleet.Client.NodeNames))
	o.isSet = flags.Changed
	c.RunE = func(c *cobra.Command, args []string) error { return o.run(c.Context(), p, args[0]) }
	return c
}

func (o *upgradeOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Start, "start", false,
		"create the NodeRollout if it does not exist: the controller then drains and upgrades the nodes")
	flags.StringVar(&o.MaxUnavailable, "max-unavailable", "",
		"`NUMBER` or percentage of nodes that may be unavailable at a time (default that of the NodePool, else 1)")
	flags.BoolVar(&o.Pause, "pause", false, "give no more slots; upgrades in progress are completed")
	flags.BoolVar(&o.Resume, "resume", false, "continue after --pause")
	flags.BoolVar(&o.AllowMajor, "allow-major", false,
		"also upgrade to an image with another major version of RHEL (RHCOS)")
	flags.StringVar(&o.Canary, "canary", "",
		"label `SELECTOR` of the NodeEnrollments whose nodes are upgraded before all others")
	flags.StringVar(&o.Window, "window", "",
		"give slots only in a window that opens by this `SCHEDULE`, the five fields of cron; \"\" removes it")
	flags.DurationVar(&o.WindowDuration, "window-duration", 0, "`DURATION` of the window")
	flags.StringVar(&o.TimeZone, "time-zone", "", "time `ZONE` of the schedule (default UTC)")
	flags.Int32Var(&o.MaxFailures, "max-failures", 0, "`NUMBER` of nodes that may fail before the rollout stops")
	flags.DurationVar(&o.SlotTimeout, "slot-timeout", 0,
		"`DURATION` after which an upgrade that has not ended counts as failed; 0 for never")
	flags.StringArrayVar(&o.Retried, "retry", nil, "upgrade this `NODE` again, whose upgrade failed; can be repeated")
	flags.StringArrayVar(&o.Ended, "end-slot", nil,
		"count the upgrade of this `NODE` as failed, because the node is lost; can be repeated")
	flags.BoolVar(&o.stop, "stop", false, "delete the NodeRollout: nodes are upgraded by hand again")
}

func upgradePermissions() []permission {
	const resource = "noderollouts.hcp-node-agent.io"
	return []permission{
		{verbs: "get", resource: resource},
		{verbs: "list", resource: enrollmentResource, purpose: "optional"},
		{
			verbs: "get", resource: "secrets", namespace: v1alpha1.Namespace,
			purpose: "for a new NodePool",
		},
		{verbs: "get", resource: "nodes", purpose: "optional"},
		{verbs: "list", resource: "events", namespace: "default", purpose: "optional"},
		{verbs: "create", resource: resource, purpose: "for --start"},
		{verbs: "update", resource: resource, purpose: "for the other flags"},
		{verbs: "delete", resource: resource, purpose: "for --stop"},
	}
}

func (o *upgradeOptions) run(ctx context.Context, p *cli.Printer, nodePool string) error {
	change, err := o.Change(o.isSet)
	if err != nil {
		return err
	}
	client, err := o.cluster.connectFleet(ctx)
	if err != nil {
		return err
	}
	if o.stop {
		existed, err := client.StopRollout(ctx, nodePool)
		if err != nil {
			return err
		}
		text := "NodePool " + nodePool + " has no NodeRollout: its nodes are upgraded by hand"
		if existed {
			text = "the nodes of NodePool " + nodePool + " are upgraded by hand again"
		}
		return p.Document(nil, func(w *report.Page) { w.Item("", text) })
	}
	object, err := client.Upgrade(ctx, nodePool, o.RolloutFlags, change)
	if err != nil {
		return err
	}
	if *o.output != "text" {
		return fleet.PrintRollout(p.Out, *o.output, nodePool, object)
	}
	progress, err := client.Progress(ctx, nodePool, object)
	if err != nil {
		return err
	}
	progress.ByYou = o.Pause
	return p.Document(nil, func(w *report.Page) {
		progress.Print(w, time.Now())
		if command := progress.Next(); command != "" {
			w.Printf("\n%s\n", p.Program.Remedy(command))
		}
	})
}
