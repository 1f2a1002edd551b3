// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// stepsDocument is the result of a command that runs the steps of a join, an upgrade or a maintenance.
type stepsDocument struct {
	report.TypeMeta
	Headline string              `json:"headline,omitempty" doc:"what the command does, in one sentence"`
	Changed  bool                `json:"changed" doc:"whether the host was changed; false if it was already in the desired state"`
	Steps    []report.StepResult `json:"steps" doc:"steps that were run, in order; after those of a failed upgrade, the steps of its rollback"`

	Adoption *plan.AdoptionDocument `json:"adoption,omitempty" doc:"what join --adopt has recorded; absent in all other results"`
	report.CommandResult
}

// finishSteps prints the result of a command that has run steps, as a document of the kind.
func finishSteps(p *cli.Printer, kind string, changed bool, err error) error {
	return finishAdoption(p, kind, changed, nil, err)
}

// finishAdoption prints the result as finishSteps does, with an adoption unless it is nil.
func finishAdoption(p *cli.Printer, kind string, changed bool, adoption *plan.AdoptionDocument, err error) error {
	if err != nil && len(p.Recorder.Steps) == 0 {
		return err
	}
	return p.Finish(err, stepsDocument{
		TypeMeta:      report.Meta(kind),
		Headline:      p.Recorder.Headline,
		Changed:       changed,
		Steps:         p.Recorder.Steps,
		Adoption:      adoption,
		CommandResult: report.ResultOf(err),
	}, func(page *report.Page) {
		if !p.Quiet() {
			printJoined(page, p.Recorder.Steps)
		}
	})
}

func newJoinCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use: "join",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing,
			report.NetworkRolledBack, report.RebootNeeded, report.Interrupted),
		Short: "Join this host to the cluster as a worker, or resume a join",
		Long: "Join makes this host a worker of the cluster. Run it again to resume a join that\n" +
			"stopped.\n\n" +
			"With --adopt, it records a host that is a node of the cluster already, and\n" +
			"changes nothing on it. Differences from the payload are listed; the next join\n" +
			"applies them.\n\nSteps:\n\n" + stepTable(bootstrap.Steps()),
		Example: "  hcp-node-agent join --user-data user-data.ign\n" +
			"  hcp-node-agent join --user-data user-data.ign \\\n" +
			"      --approve-with hosted.kubeconfig\n" +
			"  hcp-node-agent join --join-token worker-7.token\n" +
			"  hcp-node-agent join --only network\n" +
			"  hcp-node-agent join --adopt --user-data user-data.ign",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, allSettings()...)
	resume := c.Flags().Bool("resume", false,
		"resume an interrupted join with the saved settings, as the service does at boot; no input is read again")
	only := c.Flags().StringSlice("only", nil,
		"run only these `STEPS`, whether or not the host has joined: network needs no user data")
	adopt := c.Flags().Bool("adopt", false,
		"record this host, which is a node of the cluster already, without changing it")
	for _, flag := range []string{"resume", "only", "skip", "until"} {
		c.MarkFlagsMutuallyExclusive("adopt", flag)
	}
	traceFile := c.Flags().String("trace", "", "write how long each step, wait, pause, command, D-Bus call and request "+
		"takes to the new `FILE`, for ui.perfetto.dev")
	cli.CompleteFlag(c, "only", cli.CompleteList(steps.IndependentSteps()))
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		options.Resume, options.Only, options.Adopt = *resume, *only, *adopt
		return bootstrap.Trace(ctx, *traceFile, options.Sink, func(ctx context.Context, sink report.Sink) error {
			options.Sink = sink
			if *adopt {
				adoption, err := bootstrap.Adopt(ctx, options)
				return finishAdoption(p, "JoinResult", false, adoption, err)
			}
			join := bootstrap.Join
			if len(*only) > 0 {
				join = bootstrap.RunOnly
			}
			changed, err := join(ctx, options)
			return finishSteps(p, "JoinResult", changed, err)
		})
	})
	return c
}

// printJoined prints what the administrator still has to do after a join, and the next commands. In
// a pipe the warnings are lines of their own, and nothing is printed.
func printJoined(page *report.Page, results []report.StepResult) {
	if page.Width == 0 {
		return
	}
	title := page.Title("Actions for you") + "\n"
	for _, step := range results {
		for _, warning := range step.Warnings {
			page.Printf("%s", title)
			page.Item("  "+page.Warn("!")+" ", warning.Message)
			page.Remedy(warning.Remedy)
			title = ""
		}
	}
	if title == "" {
		page.Printf("\n")
	}
	page.Printf("Status: hcp-node-agent status    Undo: hcp-node-agent leave\n")
}

func stepTable[T any](list []steps.Step[T]) string {
	var out strings.Builder
	for _, step := range list {
		fmt.Fprintf(&out, "    %-19s  %s\n", step.Name, step.Description)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// withOptions returns a function for RunE that calls run with the options of a join.
func withOptions(
	p *cli.Printer, file *string, run func(context.Context, request.Options) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		options, err := optionsFrom(c, *file, p)
		if err != nil {
			return err
		}
		return run(c.Context(), options)
	}
}

// optionsFrom returns the options of a join from the configuration and the flags of c.
func optionsFrom(c *cobra.Command, file string, p *cli.Printer) (request.Options, error) {
	join, err := config.Load(configSource(c, file))
	if err != nil {
		return request.Options{}, err
	}
	return request.Options{
		Command:  c.Name(),
		Config:   join,
		Attended: p.IsTerminal(),
		StateDir: joinstate.Dir,
		Sink:     p.Sink,
		Stdin:    p.In,
	}, nil
}
