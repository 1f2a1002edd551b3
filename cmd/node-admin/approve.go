// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	cluster                clusterFlags
	name, fingerprint      string
	addresses              []string
	allowManagementCluster bool
	timeout                time.Duration
}

func newApproveCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "approve NODE|CSR",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing, report.Interrupted),
		Short:       "Review and approve the CSRs of one node",
		Long: `Approve runs where the hosted cluster is administered, not on a node: the right
to approve is the right to become any node. The controller approves the CSRs of
enrolled nodes; this command is for the others.

With NODE, or the name of one of its CSRs, it prints the pending CSRs of the
node, with the reasons for and against their approval, and the commands that
approve them; exit code 5 means that nothing was approved. With NODE and
--fingerprint it approves the client CSR with the key that join prints on the
node; with --address also the serving CSR of the node when it is created. Any
node can choose the name of a CSR, so that it does not select what is approved.

Nothing is ever denied.` + describePermissions(approvePermissions()),
		Example: `  hcp-node-admin approve worker-7.example.com
  hcp-node-admin approve worker-7.example.com --fingerprint SHA256:HEX`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("the name of one node or CSR is required")
			}
			return nil
		},
	}
	var o approveOptions
	flags := c.Flags()
	flags.SortFlags = false
	o.cluster.add(flags, ", or - for standard input")
	flags.StringVar(&o.fingerprint, "fingerprint", "",
		"fingerprint of the node's key, as printed by join: `SHA256:HEX`")
	flags.StringSliceVar(&o.addresses, "address", nil,
		"`IP` that the serving certificate of the node may contain; can be repeated")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute,
		"timeout of the wait for the CSRs of the node, as a `DURATION`; 0 means no limit")
	flags.BoolVar(&o.allowManagementCluster, "allow-management-cluster", false,
		"approve a node of a cluster that serves HostedClusters itself")
	c.ValidArgsFunction = completeOne(completeFrom(&o.cluster, fleet.Client.PendingNames))
	c.RunE = func(c *cobra.Command, args []string) error {
		o.name = args[0]
		return o.run(c.Context(), p)
	}
	return c
}

func (o approveOptions) run(ctx context.Context, p *cli.Printer) error {
	p.OneLine = true // every decision is a document on one line
	addresses, err := parseAddresses(o.addresses)
	if err != nil {
		return usageError("--address: %w", err)
	}
	kubeconfig, err := o.cluster.read(p.In)
	if err != nil {
		return err
	}
	a, err := approver.Open(approver.Options{
		Kubeconfig:             kubeconfig,
		AllowManagementCluster: o.allowManagementCluster,
		OnEvent:                func(recorded approver.Event) { printEvent(p, recorded) },
	})
	if err != nil {
		return err
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if o.fingerprint == "" && len(addresses) == 0 {
		return reviewCSRs(ctx, p, a, o.name)
	}
	if err := checkNodeNames([]string{o.name}); err != nil {
		return err
	}
	return a.ApproveManually(ctx, approver.ManualApproval{
		NodeName:    o.name,
		Fingerprint: o.fingerprint,
		Addresses:   addresses,
		Log:         report.Log{Sink: p.Sink, Step: "approve"},
	})
}

type eventDocument struct {
	report.TypeMeta
	approver.Event
}

// printEvent prints one line for each event.
func printEvent(p *cli.Printer, recorded approver.Event) {
	// An event that cannot be printed does not stop the approval.
	_ = p.Event(eventDocument{report.Meta("ApproverEvent"), recorded}, eventText(recorded))
}

func eventText(recorded approver.Event) string {
	kind := "client"
	if strings.HasSuffix(recorded.Signer, "kubelet-serving") {
		kind = "serving"
	}
	text := fmt.Sprintf("%-8s %-12s %s CSR %s (key %s)", recorded.Outcome, recorded.Node, kind,
		approver.DisplayName(recorded.CSR), recorded.Key)
	if recorded.Reason != "" {
		text += ": " + recorded.Reason
	}
	return strings.ReplaceAll(text, "\n", " ")
}

func parseAddresses(texts []string) ([]netip.Prefix, error) {
	var addresses []netip.Prefix
	for _, text := range texts {
		address, err := enrollment.ParseAddress(text)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
