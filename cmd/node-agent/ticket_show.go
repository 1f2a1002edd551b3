package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

type tokenDocument struct {
	report.TypeMeta
	ticket.Summary
	result
}

func newTokenShowCommand(p *printer) *cobra.Command {
	return &cobra.Command{
		Use:               "show FILE",
		Short:             "Print a ticket or a claim without its secret",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFiles(),
		RunE: func(_ *cobra.Command, args []string) error {
			shown, err := readTokenSummary(args[0])
			document := tokenDocument{report.Meta("TicketShown"), shown, resultOf(err)}
			return p.finish(err, document, func(w io.Writer) { printToken(w, shown) })
		},
	}
}

func readTokenSummary(path string) (ticket.Summary, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return ticket.Summary{}, report.Fail(report.Usage, "hcp-node-agent ticket show --help", "reading the file: %w", err)
	}
	shown, err := ticket.ParseSummary(content, time.Now())
	if err != nil {
		return shown, report.Fail(report.Usage, "hcp-node-agent ticket create --node NAME --kubeconfig FILE # makes a ticket and its claim", "%s: %w", path, err)
	}
	return shown, nil
}

func printToken(w io.Writer, t ticket.Summary) {
	until := "until " + t.Expires.Local().Format(time.DateTime)
	if t.Expired {
		until = "EXPIRED at " + t.Expires.Local().Format(time.DateTime)
	}
	fmt.Fprintf(w, "%s %s of %s, %s\n", strings.ToLower(t.Kind), t.ID, t.NodeName, until)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-12s %s\n", name, value)
		}
	}
	row("public key", t.Fingerprint)
	for _, ca := range t.ClusterCA {
		row("cluster CA", string(ca))
	}
	if t.Kind == ticket.KindEnrollment {
		row("addresses", joinAddresses(t.Addresses))
	}
	row("labels", strings.Join(t.Labels, " "))
	row("taints", strings.Join(t.Taints, " "))
	if t.HasUserData {
		row("stub", "is in it")
	}
}
