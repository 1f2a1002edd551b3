package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newPlanCommand(p *cli.Printer) *cobra.Command {
	var diff *bool
	c := newReportCommand(p, "plan", "Print what a join would change, without changing anything", planSettings,
		func(ctx context.Context, options inputs.Options) (plan.Document, error) {
			options.Diff = *diff
			return plan.Show(ctx, options)
		}, printPlan)
	diff = c.Flags().Bool("diff", false, "also print the differences of text files; secrets are masked")
	return c
}

func printPlan(w *report.Page, document plan.Document) {
	who := document.NodeName
	if document.NodePool != "" {
		who += " of NodePool " + document.NodePool
	}
	if document.Empty {
		fmt.Fprintf(w, "%s: no changes needed\n", who)
		for _, line := range describeNetwork(document.Network) {
			fmt.Fprintf(w, "  %s\n", line)
		}
		return
	}
	fmt.Fprintf(w, "changes that a join would make for %s\n", who)
	if len(document.Overrides) > 0 {
		fmt.Fprintf(w, "overrides: %s\n", strings.Join(document.Overrides, ", "))
	}
	for _, group := range groupsOf(document.Changes) {
		printGroup(w, group, document.Changes)
	}
	printList(w, "network", describeNetwork(document.Network))
	notes := make([]string, 0, len(document.Notes))
	for _, note := range document.Notes {
		notes = append(notes, note.String())
	}
	printList(w, "notes: skipped, changed and added entries", notes)
	printList(w, "missing", document.MissingUnits)
}

// describeNetwork returns the lines about the network.
func describeNetwork(network *plan.Network) []string {
	if network == nil {
		return []string{"not planned: the step network is skipped, or Open vSwitch is not installed yet"}
	}
	return network.Description
}

// groupsOf returns the groups of the changes in output order.
func groupsOf(changes []plan.PlannedChange) []plan.Group {
	return slices.DeleteFunc(plan.Groups(), func(group plan.Group) bool {
		return !slices.ContainsFunc(changes, func(change plan.PlannedChange) bool { return change.Group == group })
	})
}

func printGroup(w io.Writer, group plan.Group, changes []plan.PlannedChange) {
	title := string(group)
	if group == plan.GroupFiles {
		title = "files, directories and links"
	}
	fmt.Fprintf(w, "\n%s: %s\n", title, countActions(group, changes))
	for _, change := range changes {
		if change.Group != group {
			continue
		}
		fmt.Fprintf(w, "  %s %s: %s (%s)\n", actionSign(change.Action), report.EscapeLine(change.Target), change.Describe(), change.Reason)
		for line := range strings.Lines(change.Diff) {
			fmt.Fprintf(w, "      %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

// countActions returns the number of changes in a group for each action.
func countActions(group plan.Group, changes []plan.PlannedChange) string {
	number := map[plan.Action]int{}
	for _, change := range changes {
		if change.Group == group {
			number[change.Action]++
		}
	}
	var words []string
	for _, one := range []struct {
		action plan.Action
		word   string
	}{
		{plan.ActionAdd, "new"},
		{plan.ActionChange, "changed"},
		{plan.ActionRemove, "removed"},
		{plan.ActionAttributes, "with other attributes"},
	} {
		if n := number[one.action]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, one.word))
		}
	}
	return strings.Join(words, ", ")
}

func actionSign(action plan.Action) string {
	switch action {
	case plan.ActionAdd:
		return "+"
	case plan.ActionRemove:
		return "-"
	case plan.ActionAttributes:
		return "="
	}
	return "~"
}

// printList prints the title and the lines, or nothing if there are no lines.
func printList(w io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
}
