// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// helpWidth is the width of the help in columns.
const helpWidth = 80

// printUsage prints the usage of a command. Unlike cobra's own, it wraps the
// flags, and the usage of the program has the exit codes.
func printUsage(c *cobra.Command) error {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", c.UseLine())
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	groups := c.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		title := "\n" + group.Title + "\n"
		for _, sub := range c.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(w, "%s  %-*s %s\n", title, sub.NamePadding(), sub.Name(), sub.Short)
				title = ""
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(w, "\nGlobal flags:\n%s", c.InheritedFlags().FlagUsagesWrapped(helpWidth))
	}
	if !c.HasParent() {
		fmt.Fprintf(w, "\nExit codes:\n%s\nSee: %s COMMAND --help\n", exitCodes(), c.Name())
	}
	return nil
}

// exitCodes returns the exit codes with their short meanings.
func exitCodes() string {
	var out strings.Builder
	for _, exit := range report.ExitStatuses() {
		fmt.Fprintf(&out, "  %-4d %s\n", exit.Code, exit.Short)
	}
	return out.String()
}
