// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type tokenDocument struct {
	report.TypeMeta
	enrollment.Summary
	report.CommandResult
}

func newTokenShowCommand(p *cli.Printer) *cobra.Command {
	return &cobra.Command{
		Use:               "show FILE",
		Annotations:       cli.ExitsWith(report.Refused),
		Short:             "Print a join token or an enrollment without its secret",
		Example:           "  hcp-node-admin token show worker-7.token",
		Args:              requireOne("one file is required: NAME.token or NAME.yaml"),
		ValidArgsFunction: cli.CompleteFiles(),
		RunE: func(_ *cobra.Command, args []string) error {
			shown, err := enroll.ReadSummary(args[0], time.Now())
			if err != nil {
				return err
			}
			document := tokenDocument{TypeMeta: report.Meta("JoinTokenSummary"), Summary: shown}
			return p.Document(document, func(w *report.Page) { printToken(w, shown) })
		},
	}
}

func printToken(w io.Writer, t enrollment.Summary) {
	until := "valid until " + report.Timestamp(t.Expires)
	if t.Expired {
		until = "EXPIRED at " + report.Timestamp(t.Expires)
	}
	noun := "join token"
	if t.Kind == enrollment.KindEnrollment {
		noun = "enrollment"
	}
	fmt.Fprintf(w, "%s %s of %s, %s\n", noun, t.ID, t.NodeName, until)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-12s %s\n", name, value)
		}
	}
	row("public key", t.Fingerprint)
	for _, ca := range t.ClusterCA {
		row("cluster CA", string(ca))
	}
	if t.Kind == enrollment.KindEnrollment {
		row("addresses", cmp.Or(strings.Join(t.Addresses, " and "), "none"))
	}
	row("labels", strings.Join(t.Labels, " "))
	row("taints", strings.Join(t.Taints, " "))
	for _, network := range t.Networks {
		row("network", fmt.Sprintf("%s (%s)", network.CIDR, network.Use))
	}
	switch {
	case t.HasUserData:
		row("user data", "included")
	case t.Secret != "":
		row("user data", "Secret "+t.Secret+" of "+t.Server)
	case t.Kind == enrollment.KindToken:
		row("user data", "not included")
	}
}
