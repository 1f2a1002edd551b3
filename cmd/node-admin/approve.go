// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/approve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

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
	var cluster clusterFlags
	var o approve.Flags
	flags := c.Flags()
	cluster.add(c, p)
	flags.StringVar(&o.Fingerprint, "fingerprint", "",
		"approve the CSRs with the key of this fingerprint: `SHA256:HEX`")
	flags.BoolVar(&o.AllowManagement, "allow-management-cluster", false,
		"approve a node of a cluster that serves HostedClusters itself")
	c.ValidArgsFunction = completeOne(cluster.completeFleet(fleet.Client.PendingNames))
	c.RunE = func(c *cobra.Command, args []string) error {
		p.OneLine = true // every CSR is a document on one line
		hosted, err := cluster.Hosted(c.Context())
		if err != nil {
			return err
		}
		reviews, err := o.Run(c.Context(), hosted, args[0])
		if err := printReviews(p, reviews); err != nil {
			return err
		}
		p.Printed = false // the failure follows as another document
		return err
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
		listPermission("get", ""),
		{verbs: "get", resource: enrollmentResource, purpose: "optional"},
	}
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
