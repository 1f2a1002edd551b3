// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// upgradeOptions are the flags of upgrade.
type upgradeOptions struct {
	cluster                clusterFlags
	start, stop            bool
	pause, resume          bool
	maxUnavailable, canary string
	window, timeZone       string
	windowDuration         time.Duration
	maxFailures            int32
	slotTimeout            time.Duration
	retried, ended         []string
	output                 *string
	isSet                  func(name string) bool
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
	flags.BoolVar(&o.start, "start", false,
		"create the NodeRollout if it does not exist: the controller then drains and upgrades the nodes")
	flags.StringVar(&o.maxUnavailable, "max-unavailable", "",
		"`NUMBER` or percentage of nodes that may be unavailable at a time (default that of the NodePool, else 1)")
	flags.BoolVar(&o.pause, "pause", false, "give no more slots; upgrades in progress are completed")
	flags.BoolVar(&o.resume, "resume", false, "continue after --pause")
	flags.StringVar(&o.canary, "canary", "",
		"label `SELECTOR` of the NodeEnrollments whose nodes are upgraded before all others")
	flags.StringVar(&o.window, "window", "",
		"give slots only in a window that opens by this `SCHEDULE`, the five fields of cron; \"\" removes it")
	flags.DurationVar(&o.windowDuration, "window-duration", 0, "`DURATION` of the window")
	flags.StringVar(&o.timeZone, "time-zone", "", "time `ZONE` of the schedule (default UTC)")
	flags.Int32Var(&o.maxFailures, "max-failures", 0, "`NUMBER` of nodes that may fail before the rollout stops")
	flags.DurationVar(&o.slotTimeout, "slot-timeout", 0,
		"`DURATION` after which an upgrade that has not ended counts as failed; 0 for never")
	flags.StringArrayVar(&o.retried, "retry", nil, "upgrade this `NODE` again, whose upgrade failed; can be repeated")
	flags.StringArrayVar(&o.ended, "end-slot", nil,
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

// validUnavailable matches what the API server accepts as maxUnavailable.
var validUnavailable = regexp.MustCompile(`^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$`)

// change returns the change of the specification, nil for none. It fails if a flag is not valid.
func (o *upgradeOptions) change() (func(*v1alpha1.NodeRolloutSpec), error) {
	var changes []func(*v1alpha1.NodeRolloutSpec)
	add := func(flag string, change func(*v1alpha1.NodeRolloutSpec)) {
		if o.isSet(flag) {
			changes = append(changes, change)
		}
	}
	if o.maxUnavailable != "" && !validUnavailable.MatchString(o.maxUnavailable) {
		return nil, report.UsageError("--max-unavailable %s: must be a positive number or 1%% to 100%%", o.maxUnavailable)
	}
	canary, err := metav1.ParseToLabelSelector(o.canary)
	if err != nil {
		return nil, report.UsageError("--canary: %w", err)
	}
	window := &v1alpha1.MaintenanceWindow{
		Schedule: o.window, Duration: metav1.Duration{Duration: o.windowDuration}, TimeZone: o.timeZone,
	}
	switch {
	case o.window == "" && (o.timeZone != "" || o.windowDuration != 0):
		return nil, report.UsageError("--window-duration and --time-zone require --window")
	case o.window == "":
		window = nil
	case o.windowDuration <= 0:
		return nil, report.UsageError("--window requires --window-duration, for example 4h")
	default:
		if _, err := rollout.NewWindow(o.window, o.timeZone, o.windowDuration); err != nil {
			return nil, report.UsageError("--window: %w", err)
		}
	}
	add("max-unavailable", func(spec *v1alpha1.NodeRolloutSpec) {
		spec.MaxUnavailable = nil
		if o.maxUnavailable != "" {
			spec.MaxUnavailable = ptr.To(intstr.Parse(o.maxUnavailable))
		}
	})
	add("pause", func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = o.pause })
	add("resume", func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = !o.resume })
	add("canary", func(spec *v1alpha1.NodeRolloutSpec) {
		spec.Canary = nil
		if o.canary != "" {
			spec.Canary = canary
		}
	})
	add("window", func(spec *v1alpha1.NodeRolloutSpec) { spec.Window = window })
	add("max-failures", func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxFailures = o.maxFailures })
	add("slot-timeout", func(spec *v1alpha1.NodeRolloutSpec) {
		spec.SlotTimeout = nil
		if o.slotTimeout > 0 {
			spec.SlotTimeout = &metav1.Duration{Duration: o.slotTimeout}
		}
	})
	if len(changes) == 0 && !o.start {
		return nil, nil
	}
	return func(spec *v1alpha1.NodeRolloutSpec) {
		for _, change := range changes {
			change(spec)
		}
	}, nil
}

func (o *upgradeOptions) run(ctx context.Context, p *cli.Printer, nodePool string) error {
	change, err := o.change()
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
	if len(o.retried)+len(o.ended) > 0 {
		if err := client.Release(ctx, nodePool, o.retried, o.ended); err != nil {
			return err
		}
	}
	var object *v1alpha1.NodeRollout
	if change == nil {
		object, err = client.Rollout(ctx, nodePool)
	} else {
		object, err = client.ChangeRollout(ctx, nodePool, o.start, change)
	}
	switch {
	case err != nil:
		return err
	case object == nil && *o.output != "text":
		return fleet.WithoutRollout(nodePool)
	case *o.output != "text":
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeRollout")) // a typed client decodes without it
		return objectPrinter(*o.output).PrintObj(object, p.Out)
	}
	progress, err := client.Progress(ctx, nodePool, object)
	if err != nil {
		return err
	}
	progress.ByYou = o.pause
	return p.Document(nil, func(w *report.Page) {
		progress.Print(w, time.Now())
		if command := nextCommand(progress); command != "" {
			w.Printf("\n%s\n", p.Program.Remedy(command))
		}
	})
}

// nextCommand returns how the state of an upgrade is changed, "" if nothing has to be done.
func nextCommand(progress *fleet.Progress) report.Remedy {
	nodePool := progress.NodePool
	switch {
	case progress.Rollout == nil:
		return report.Remedyf("# lets the controller drain and upgrade its nodes, one after the other:\n"+
			"hcp-node-admin upgrade %s --start", nodePool)
	case !progress.IsReported():
		return report.Remedyf("hcp-node-admin upgrade %s # again, when the controller has reported", nodePool)
	}
	if failures := progress.Rollout.Status.CurrentFailures(); len(failures) > 0 {
		return report.Remedyf("# when the cause is removed:\nhcp-node-admin upgrade %s --retry %s", nodePool,
			report.ShellWord(failures[0].Node))
	}
	return ""
}
