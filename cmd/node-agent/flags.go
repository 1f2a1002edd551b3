package main

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
)

// settingFlags binds the settings of a join and the path of the configuration
// file, which it returns.
func settingFlags(c *cobra.Command) *string {
	c.Flags().SortFlags = false
	defaults := config.Defaults()
	config.Flags(c.Flags(), &defaults)
	cli.CompleteFlag(c, "until", cobra.FixedCompletions(stepname.UntilValues(), cobra.ShellCompDirectiveNoFileComp))
	cli.CompleteFlag(c, "skip", cli.CompleteList(stepNames(func(s bootstrap.Step) bool { return !s.Required })))
	return c.Flags().String("config", config.DefaultFile, "configuration `FILE`; drop-ins are in config.d beside it")
}

// stepNames returns the names of the steps that isSelected accepts.
func stepNames(isSelected func(bootstrap.Step) bool) []string {
	var names []string
	for _, step := range bootstrap.Steps() {
		if isSelected(step) {
			names = append(names, step.Name)
		}
	}
	return names
}

func completeInterfaces(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	interfaces, _ := net.Interfaces() // without them nothing is completed
	var names []cobra.Completion
	for _, one := range interfaces {
		names = append(names, one.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
