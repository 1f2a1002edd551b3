// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodesOptions are the flags of nodes.
type nodesOptions struct {
	cluster  clusterFlags
	output   *string
	selected fleet.Selection
	watch    bool
	awaited  string // phase
	timeout  time.Duration
}

func newNodesCommand(p *cli.Printer) *cobra.Command {
	var o nodesOptions
	c := &cobra.Command{
		Use:         "nodes [NODE...]",
		SuggestFor:  []string{"list", "get", "status", "ls"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "List the enrolled nodes and their state",
		Long: `Nodes lists the NodeEnrollments of the hosted cluster, with the columns that
oc get nodeenrollments has. Each shows the state of a node:

    Pending     no host has used the join token
    Enrolled    a host has used the join token; its Node does not exist yet
    Joined      the Node exists, and was not Ready yet
    Ready       the Node is Ready
    Upgrading   the agent upgrades the node
    Degraded    the Node is Ready, and the agent has found a problem
    Drifted     the host differs from what the agent has applied
    Failed      the join token has expired, or the Node is not Ready
    Lost        kubelet reports nothing, or the Node was deleted

CERTIFICATE is the time at which the first certificate of the node expires,
REPORTED the age of the last report of its agent. With --output wide, TOKEN is
the time at which the join token expires.

With --watch, changed nodes are printed until the command is stopped. With
--wait, it waits until all selected nodes are in the phase; after --timeout, it
fails with exit code 1.

After the table it prints, on standard error, whether no controller runs, the
number of nodes in each phase and, if list nodes is permitted, the Nodes that
have no NodeEnrollment.` + describePermissions(nodesPermissions()),
		Example: "  hcp-node-admin nodes --output wide\n" +
			"  hcp-node-admin nodes --phase Failed,Lost\n" +
			"  hcp-node-admin nodes --nodepool workers --wait Ready --timeout 30m",
	}
	flags := c.Flags()
	o.cluster.add(c, p)
	o.output = p.BindOutput(c, "output `FORMAT`: text; wide, with more columns; json or yaml, the objects; or name",
		"text", "wide", "json", "yaml", "name")
	flags.StringVarP(&o.selected.Labels, "selector", "l", "", "label `SELECTOR` of the NodeEnrollments")
	flags.StringSliceVar(&o.selected.Phases, "phase", nil, "only nodes in this `PHASE`; can be repeated")
	flags.StringVar(&o.selected.NodePool, "nodepool", "", "only nodes of the NodePool `NAME`")
	flags.BoolVarP(&o.watch, "watch", "w", false, "print changes until stopped")
	flags.StringVar(&o.awaited, "wait", "", "wait until all selected nodes are in this `PHASE`, such as Ready")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Minute, "timeout of --wait, as a `DURATION`")
	cli.CompleteFlag(c, "wait", cli.CompleteValue(fleet.Phases()))
	cli.CompleteFlag(c, "phase", cli.CompleteList(fleet.Phases()))
	cli.CompleteFlag(c, "nodepool", o.cluster.completeFleet(fleet.Client.NodePools))
	c.ValidArgsFunction = o.cluster.completeFleet(fleet.Client.NodeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.selected.Names = args
		return o.run(c.Context(), p)
	}
	return c
}

const enrollmentResource = "nodeenrollments.hcp-node-agent.io"

func nodesPermissions() []permission {
	return []permission{
		{verbs: "list", resource: enrollmentResource},
		{verbs: "list", resource: "nodes", purpose: "optional"},
		leasePermission(),
	}
}

// leasePermission returns the right with which it is checked whether a controller runs.
func leasePermission() permission {
	return permission{
		verbs: "get", resource: "leases.coordination.k8s.io", namespace: v1alpha1.Namespace, purpose: "optional",
	}
}

func (o *nodesOptions) check() error {
	var err error
	for i, phase := range o.selected.Phases {
		if o.selected.Phases[i], err = parsePhase("--phase", phase); err != nil {
			return err
		}
	}
	if o.awaited != "" {
		if o.awaited, err = parsePhase("--wait", o.awaited); err != nil {
			return err
		}
		if o.watch {
			return report.UsageError("--wait and --watch exclude each other")
		}
	}
	if _, err := labels.Parse(o.selected.Labels); err != nil {
		return report.UsageError("--selector: %w", err)
	}
	if len(o.selected.Names) > 0 && o.selected.Labels != "" {
		return report.UsageError("NODE and --selector exclude each other")
	}
	return checkNodeNames(nil, o.selected.Names)
}

// parsePhase returns the phase that a flag names in upper or lower case.
func parsePhase(flag, text string) (string, error) {
	for _, phase := range fleet.Phases() {
		if strings.EqualFold(phase, text) {
			return phase, nil
		}
	}
	return "", report.UsageError("%s: %q is none of %s", flag, text, strings.Join(fleet.Phases(), ", "))
}

func (o *nodesOptions) run(ctx context.Context, p *cli.Printer) error {
	if err := o.check(); err != nil {
		return err
	}
	client, err := o.cluster.connectFleet(ctx)
	if err != nil {
		return err
	}
	print := o.printer(p.Out)
	if o.watch {
		log := report.Log{Sink: &report.Lines{W: p.Err}, Step: "nodes"}
		return interrupted(ctx, client.Watch(ctx, log, o.selected, fleet.PollInterval, print))
	}
	nodes, err := o.list(ctx, p, client)
	if nodes == nil || err != nil && (o.isForPrograms() || len(nodes.Objects) == 0) {
		return err
	}
	if len(nodes.Objects) > 0 || o.isForPrograms() {
		if err := print(nodes); err != nil {
			return err
		}
	}
	if !o.isForPrograms() {
		o.printNotes(ctx, p, client, nodes)
	}
	return err
}

// list returns the selected nodes, with --wait when all of them have the phase.
func (o *nodesOptions) list(ctx context.Context, p *cli.Printer, client fleet.Client) (*fleet.Nodes, error) {
	if o.awaited == "" {
		return client.ListNodes(ctx, o.selected)
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return client.Wait(limited, report.Log{Sink: p.Sink, Step: "nodes"}, o.selected, fleet.PollInterval, o.awaited)
}

// isForPrograms reports whether the output is no table.
func (o *nodesOptions) isForPrograms() bool { return *o.output != "text" && *o.output != "wide" }

// printNotes prints the number of nodes in each phase, and the Nodes without a NodeEnrollment.
func (o *nodesOptions) printNotes(ctx context.Context, p *cli.Printer, client fleet.Client, nodes *fleet.Nodes) {
	page, isPage := p.Err.(*report.Page)
	if !isPage {
		return
	}
	if problem := client.ControllerProblem(ctx, time.Now()); problem != "" {
		page.Item("", problem)
	}
	if len(nodes.Objects) == 0 {
		page.Printf("no NodeEnrollment was found\n")
	} else {
		page.Printf("%s\n", nodes.Count())
	}
	if !o.selected.IsAll() {
		return
	}
	others, err := client.WithoutEnrollment(ctx, nodes.Objects)
	switch {
	case err != nil || len(others) == 0: // usually without the permission
	case len(others) == 1:
		page.Printf("1 Node has no NodeEnrollment: %s\n", others[0])
	default:
		page.Item("", fmt.Sprintf("%d Nodes have no NodeEnrollment: %s", len(others), report.AbbreviateList(others)))
	}
}

// printer returns a function that prints nodes in the requested format.
func (o *nodesOptions) printer(w io.Writer) func(*fleet.Nodes) error {
	if !o.isForPrograms() {
		table := printers.NewTablePrinter(printers.PrintOptions{Wide: *o.output == "wide"})
		aligned := printers.GetNewTabWriter(w) // it remembers the widths of the columns
		return func(nodes *fleet.Nodes) error {
			return errors.Join(table.PrintObj(nodes.Table, aligned), aligned.Flush())
		}
	}
	objects := objectPrinter(*o.output)
	// As kubectl does, one object that was requested by name is no list, and those of a watch are not either.
	isList := !o.watch && len(o.selected.Names) != 1 && *o.output != "name"
	return func(nodes *fleet.Nodes) error {
		list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
		for _, object := range nodes.Objects {
			object.ManagedFields = nil
			if !isList {
				if err := objects.PrintObj(object, w); err != nil {
					return fmt.Errorf("printing NodeEnrollment %s: %w", object.Name, err)
				}
			}
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
		if !isList {
			return nil
		}
		return objects.PrintObj(list, w)
	}
}

// interrupted returns the error of a command that runs until it is stopped, which is no failure.
func interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return report.Fail(report.Interrupted, "", "interrupted")
	}
	return err
}

// objectPrinter returns a printer of objects in a format of kubectl: json, yaml or name.
func objectPrinter(format string) printers.ResourcePrinter {
	return map[string]printers.ResourcePrinter{
		"json": &printers.JSONPrinter{}, "yaml": &printers.YAMLPrinter{}, "name": &printers.NamePrinter{},
	}[format]
}
