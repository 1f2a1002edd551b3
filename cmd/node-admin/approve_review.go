// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type reviewDocument struct {
	report.TypeMeta
	approver.Review
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

// reviewCSRs prints the pending CSRs of a node, or of the node of a CSR, with the reasons for and against their
// approval. Its error has the commands that approve them, because nothing is approved.
func reviewCSRs(ctx context.Context, p *cli.Printer, a *approver.Approver, name string) error {
	node, err := a.NodeOf(ctx, name)
	if err != nil {
		return err
	}
	if err := checkNodeNames([]string{node}); err != nil {
		return err
	}
	reviews, err := a.Review(ctx, node)
	if err != nil {
		return err
	}
	var commands []string
	for _, one := range reviews {
		document := reviewDocument{report.Meta("CSRReview"), one}
		if err := p.Document(document, func(w *report.Page) { printReview(w, one) }); err != nil {
			return err
		}
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

// printReview prints a CSR and the findings about it.
func printReview(w *report.Page, one approver.Review) {
	kind := "client"
	if one.IsServing() {
		kind = "serving"
	}
	w.Item("", fmt.Sprintf("%s CSR %s of %s, age %s, submitted by %s", kind, approver.DisplayName(one.Name), one.Node,
		report.FormatAge(time.Since(one.Created)), one.Requestor))
	if one.Key != "" {
		w.Item("  key ", one.Key)
	}
	w.Findings(one.Findings)
}
