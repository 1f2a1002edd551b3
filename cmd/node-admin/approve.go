// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/approve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	cluster                clusterFlags
	name, fingerprint      string
	allowManagementCluster bool
}

type reviewDocument struct {
	report.TypeMeta
	approver.Review
}

func newApproveCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "approve NODE|CSR",
		SuggestFor:  []string{"sign"},
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing, report.Interrupted),
		Short:       "Review and approve the CSRs of one node",
		Long: `Approve runs where the hosted cluster is administered, not on a node: the right
to approve is the right to become any node. The controller approves the CSRs of
enrolled nodes; this command is for the others.

With NODE, or the name of one of its CSRs, it prints the pending CSRs of the
node, with the reasons for and against their approval, and the commands that
approve them; exit code 5 means that nothing was approved. With NODE and
--fingerprint it approves the CSRs with this key: the client CSR with the key
that join prints on the host, and later the serving CSR, if the host has its
addresses. A CSR that breaks a rule is not approved. Any node can choose the
name of a CSR, so that it does not select what is approved.

Nothing is ever denied.` + describePermissions(approvePermissions()),
		Example: `  hcp-node-admin approve worker-7.example.com
  hcp-node-admin approve worker-7.example.com --fingerprint SHA256:HEX`,
		Args: requireOne("the name of one node or CSR is required"),
	}
	var o approveOptions
	flags := c.Flags()
	o.cluster.add(c, p)
	flags.StringVar(&o.fingerprint, "fingerprint", "",
		"approve the CSRs with the key of this fingerprint: `SHA256:HEX`")
	flags.BoolVar(&o.allowManagementCluster, "allow-management-cluster", false,
		"approve a node of a cluster that serves HostedClusters itself")
	c.ValidArgsFunction = completeOne(o.cluster.completeFleet(fleet.Client.PendingNames))
	c.RunE = func(c *cobra.Command, args []string) error {
		o.name = args[0]
		return o.run(c.Context(), p)
	}
	return c
}

// approvePermissions returns the rights with which NODE or CSR is reviewed and approved.
func approvePermissions() []permission {
	const csrs, group = "certificatesigningrequests", ".certificates.k8s.io"
	return []permission{
		{verbs: "get,list", resource: csrs + group},
		{verbs: "update", resource: csrs + "/approval" + group, purpose: "to approve"},
		{verbs: "approve", resource: "signers" + group, purpose: "to approve"},
		{verbs: "get,list", resource: "nodes"},
		{verbs: "get", resource: enrollmentResource, purpose: "optional"},
	}
}

func (o approveOptions) run(ctx context.Context, p *cli.Printer) error {
	p.OneLine = true // every CSR is a document on one line
	hosted, err := o.cluster.Hosted(ctx)
	if err != nil {
		return err
	}
	if _, err := hosted.CAHashes(); err != nil { // also identifies the cluster in enrollments
		return err
	}
	if o.fingerprint != "" {
		if err := checkNodeNames(nil, []string{o.name}); err != nil {
			return err
		}
	}
	if err := hosted.CheckApproval(ctx, o.allowManagementCluster); err != nil {
		return err
	}
	if o.fingerprint == "" {
		return reviewCSRs(ctx, p, hosted, o.name)
	}
	approved, err := approve.Approve(ctx, hosted, o.name, o.fingerprint)
	if err != nil {
		return err
	}
	return printReviews(p, approved)
}

// reviewCSRs prints the pending CSRs of a node, or of the node of a CSR, with the reasons for and against their
// approval. Its error has the commands that approve them, because nothing is approved.
func reviewCSRs(ctx context.Context, p *cli.Printer, hosted *cluster.Cluster, name string) error {
	node, err := approve.NodeOf(ctx, hosted, name)
	if err != nil {
		return err
	}
	if err := checkNodeNames(nil, []string{node}); err != nil {
		return err
	}
	reviews, err := approve.Review(ctx, hosted, node, "")
	if err == nil {
		err = printReviews(p, reviews)
	}
	if err != nil {
		return err
	}
	var commands []string
	for _, one := range reviews {
		if command := one.Command(); command != "" {
			commands = append(commands, string(command))
		}
	}
	p.Printed = false // the failure follows as another document
	switch {
	case len(reviews) == 0:
		return report.Fail(report.ApprovalMissing, report.Remedy("hcp-node-admin describe "+node), "no CSR of %s is "+
			"pending", node)
	case len(commands) == 0:
		return report.Fail(report.ApprovalMissing, "", "none of the pending CSRs of %s must be approved", node)
	case len(reviews) == 1:
		return report.Fail(report.ApprovalMissing, report.Remedy(commands[0]), "the CSR of %s was not approved", node)
	}
	return report.Fail(report.ApprovalMissing, report.Remedy(strings.Join(commands, "\n")),
		"%d CSRs of %s were not approved", len(reviews), node)
}

// printReviews prints CSRs, each as a document.
func printReviews(p *cli.Printer, reviews []approver.Review) error {
	for _, one := range reviews {
		document := reviewDocument{report.Meta("CSRReview"), one}
		if err := p.Document(document, func(w *report.Page) { printReview(w, one) }); err != nil {
			return err
		}
	}
	return nil
}

// printReview prints a CSR and the findings about it.
func printReview(w *report.Page, one approver.Review) {
	kind := "client"
	if one.IsServing() {
		kind = "serving"
	}
	state := ""
	if one.State != approver.CSRPending {
		state = strings.ToLower(string(one.State)) + ": "
	}
	w.Item("", fmt.Sprintf("%s%s CSR %s of %s, age %s, submitted by %s", state, kind, approver.DisplayName(one.Name),
		one.Node, report.FormatAge(time.Since(one.Created)), one.Requestor))
	if one.Key != "" {
		w.Item("  key ", one.Key)
	}
	if len(one.Addresses) > 0 {
		w.Item("  addresses ", strings.Join(one.Addresses, ", "))
	}
	w.Findings(one.Findings)
}
