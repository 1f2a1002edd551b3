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

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodesOptions are the flags of nodes.
type nodesOptions struct {
	cluster  clusterFlags
	output   *string
	selected fleet.Selection
	watch    bool
}

func newNodesCommand(p *cli.Printer) *cobra.Command {
	var o nodesOptions
	c := &cobra.Command{
		Use:         "nodes [NODE...]",
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

CERTIFICATE is the time until the first certificate of the node expires,
REPORTED the age of the last report of its agent. With --output wide, TOKEN is
the time until the join token expires. With --watch, changed nodes are printed
until the command is stopped.

After the table it prints the Nodes that have no NodeEnrollment, on standard
error, if list nodes is permitted.` + describePermissions(nodesPermissions()),
		Example: "  hcp-node-admin nodes --output wide\n" +
			"  hcp-node-admin nodes --phase Failed,Lost\n" +
			"  hcp-node-admin nodes --nodepool workers --watch",
	}
	flags := c.Flags()
	flags.SortFlags = false
	o.cluster.add(flags, ", or - for standard input")
	o.output = p.BindOutput(c, "output `FORMAT`: text; wide, with more columns; json or yaml, the objects; or name",
		"text", "wide", "json", "yaml", "name")
	flags.StringVarP(&o.selected.Labels, "selector", "l", "", "label `SELECTOR` of the NodeEnrollments")
	flags.StringSliceVar(&o.selected.Phases, "phase", nil, "only nodes in this `PHASE`; can be repeated")
	flags.StringVar(&o.selected.NodePool, "nodepool", "", "only nodes of the NodePool `NAME`")
	flags.BoolVarP(&o.watch, "watch", "w", false, "print changes until stopped")
	cli.CompleteFlag(c, "phase", cli.CompleteList(fleet.Phases()))
	cli.CompleteFlag(c, "nodepool", completeFrom(&o.cluster, fleet.Client.NodePools))
	c.ValidArgsFunction = completeFrom(&o.cluster, fleet.Client.NodeNames)
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
		{verbs: "get", resource: enrollmentResource, purpose: "for NODE"},
		{verbs: "watch", resource: enrollmentResource, purpose: "for --watch"},
		{verbs: "list", resource: "nodes", purpose: "optional"},
	}
}

func (o *nodesOptions) check() error {
	for i, phase := range o.selected.Phases {
		known := ""
		for _, one := range fleet.Phases() {
			if strings.EqualFold(one, phase) {
				known = one
			}
		}
		if known == "" {
			return usageError("--phase: %q is none of %s", phase, strings.Join(fleet.Phases(), ", "))
		}
		o.selected.Phases[i] = known
	}
	if _, err := labels.Parse(o.selected.Labels); err != nil {
		return usageError("--selector: %w", err)
	}
	if len(o.selected.Names) > 0 && o.selected.Labels != "" {
		return usageError("NODE and --selector exclude each other")
	}
	return checkNodeNames(o.selected.Names)
}

func (o *nodesOptions) run(ctx context.Context, p *cli.Printer) error {
	if err := o.check(); err != nil {
		return err
	}
	client, err := connectFleet(&o.cluster, p.In)
	if err != nil {
		return err
	}
	print := o.printer(p.Out)
	if o.watch {
		log := report.Log{Sink: &report.Lines{W: p.Err}, Step: "nodes"}
		return interrupted(ctx, client.Watch(ctx, log, o.selected, print))
	}
	table, missing, err := client.List(ctx, o.selected)
	if err == nil && len(missing) > 0 {
		err = report.Fail(report.Usage, "hcp-node-admin nodes # lists all", "no NodeEnrollment exists for %s",
			report.AbbreviateList(missing))
	}
	if err != nil && (o.isForPrograms() || len(table.Rows) == 0) {
		return err
	}
	if len(table.Rows) > 0 || o.isForPrograms() {
		if err := print(table); err != nil {
			return err
		}
	}
	if err == nil && !o.isForPrograms() {
		o.printNotes(ctx, p, client, table)
	}
	return err
}

// isForPrograms reports whether the output is no table.
func (o *nodesOptions) isForPrograms() bool { return *o.output != "text" && *o.output != "wide" }

// printNotes prints that there are no NodeEnrollments, and the Nodes without one.
func (o *nodesOptions) printNotes(ctx context.Context, p *cli.Printer, client fleet.Client, table fleet.Table) {
	page, isPage := p.Err.(*report.Page)
	if !isPage {
		return
	}
	if len(table.Rows) == 0 {
		page.Printf("no NodeEnrollment was found\n")
	}
	if !o.selected.IsAll() {
		return
	}
	others, err := client.WithoutEnrollment(ctx, table.Rows)
	switch {
	case err != nil || len(others) == 0: // usually without the permission
	case len(others) == 1:
		page.Printf("1 Node has no NodeEnrollment: %s\n", others[0])
	default:
		page.Item("", fmt.Sprintf("%d Nodes have no NodeEnrollment: %s", len(others), report.AbbreviateList(others)))
	}
}

// printer returns a function that prints a table in the requested format.
func (o *nodesOptions) printer(w io.Writer) func(fleet.Table) error {
	if !o.isForPrograms() {
		isWide := *o.output == "wide"
		table := printers.NewTablePrinter(printers.PrintOptions{Wide: isWide})
		return func(t fleet.Table) error { return table.PrintObj(t.Printable(time.Now(), isWide), w) }
	}
	objects := objectPrinter(*o.output)
	// As kubectl does, one object that was requested by name is no list, and those of a watch are not either.
	isList := !o.watch && len(o.selected.Names) != 1 && *o.output != "name"
	return func(t fleet.Table) error {
		list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
		for _, row := range t.Rows {
			row.ManagedFields = nil
			if !isList {
				if err := objects.PrintObj(row.NodeEnrollment, w); err != nil {
					return fmt.Errorf("printing NodeEnrollment %s: %w", row.Name, err)
				}
			}
			list.Items = append(list.Items, runtime.RawExtension{Object: row.NodeEnrollment})
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
