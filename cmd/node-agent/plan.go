// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preview"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newPlanCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "plan",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ChangesPlanned),
		Short:       "Print what a join would change, without changing anything",
		Long: "Plan prints what a join would change, without changing anything. Lists of\n" +
			"additions are abbreviated unless --verbose or --diff is given.\n\n" +
			"With --payload it uses no network. The facts about the host are those of\n" +
			"--facts, else those of this host if plan runs there as root, else those of a\n" +
			"RHEL 9 host in package mode without the packages of a node. The output names\n" +
			"the facts.",
		Example: "  hcp-node-agent plan --user-data user-data.ign\n" +
			"  hcp-node-agent plan --print-facts >facts.json\n" +
			"  hcp-node-agent plan --payload worker.ign --facts facts.json\n" +
			"  hcp-node-agent plan --detailed-exitcode",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, planSettings...)
	flags := c.Flags()
	diff := flags.Bool("diff", false, "also print the differences of text files; secrets are masked")
	payload := flags.String("payload", "",
		"rendered payload in `FILE` (- for standard input) in place of the saved or downloaded one")
	facts := flags.String("facts", "", "plan for the host whose facts are in `FILE` (- for standard input)")
	printFacts := flags.Bool("print-facts", false,
		"print the facts of this host as JSON, for --facts on another machine, and exit")
	detailed := flags.Bool("detailed-exitcode", false, "exit with code 9 if the plan contains changes")
	adopt := flags.Bool("adopt", false, "print what join --adopt would record on this host, which is a node already")
	c.MarkFlagsMutuallyExclusive("adopt", "facts")
	c.MarkFlagsMutuallyExclusive("adopt", "payload")
	c.MarkFlagsMutuallyExclusive("adopt", "print-facts")
	c.MarkFlagsMutuallyExclusive("print-facts", "payload")
	c.MarkFlagsMutuallyExclusive("print-facts", "facts")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *printFacts {
			document, err := preview.GatherFacts(c.Context())
			if err != nil {
				return err
			}
			return p.Document(document, func(page *report.Page) { _ = report.WriteJSON(page, document) })
		}
		options, err := optionsFrom(c, *file, p)
		if err != nil {
			return err
		}
		options.Diff, options.Payload, options.Facts, options.Adopt = *diff, *payload, *facts, *adopt
		document, err := preview.Show(c.Context(), options)
		if err != nil {
			return err
		}
		var outcome error
		if *detailed {
			outcome = document.Err()
			p.StepReported = true // the exit code is a result, not an error
		}
		document.CommandResult = report.ResultOf(outcome)
		print := func(page *report.Page) { planScreen{page, page.Verbose || *diff}.print(document) }
		return cmp.Or(p.Document(document, print), outcome)
	}
	return c
}
