package main

import (
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// enum is the value of a flag that has one of a few values.
type enum struct {
	value  *string
	values []string
}

func (e enum) String() string { return *e.value }

func (e enum) Type() string { return "string" }

func (e enum) Set(value string) error {
	if !slices.Contains(e.values, value) {
		return errors.New("must be one of " + strings.Join(e.values, ", "))
	}
	*e.value = value
	return nil
}

// EnumFlag binds a flag of c and its subcommands that has one of a few values,
// the first by default.
func EnumFlag(c *cobra.Command, name, shorthand, usage string, values ...string) *string {
	value := values[0]
	c.PersistentFlags().VarP(enum{value: &value, values: values}, name, shorthand, usage)
	CompleteFlag(c, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	return &value
}

// settingFlags binds the settings of a join and the path of the configuration
// file, which it returns.
func settingFlags(c *cobra.Command) *string {
	c.Flags().SortFlags = false
	defaults := config.Defaults()
	config.Flags(c.Flags(), &defaults)
	CompleteFlag(c, "until", cobra.FixedCompletions(config.UntilStates(), cobra.ShellCompDirectiveNoFileComp))
	CompleteFlag(c, "skip", CompleteList(stepNames(func(s bootstrap.Step) bool { return !s.Required })))
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

// CompleteFlag registers the completion of a flag. It fails only for a flag that
// does not exist, or that has a completion.
func CompleteFlag(c *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err)
	}
}

// CompleteList completes a comma-separated list of values, each at most once.
func CompleteList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		done := text[:strings.LastIndex(text, ",")+1]
		var completions []cobra.Completion
		for _, value := range values {
			if strings.HasPrefix(done+value, text) && !slices.Contains(strings.Split(done, ","), value) {
				completions = append(completions, done+value)
			}
		}
		return completions, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// CompleteFiles returns a function that completes file names.
func CompleteFiles() cobra.CompletionFunc {
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
}

func completeInterfaces(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	interfaces, _ := net.Interfaces() // without them nothing is completed
	var names []cobra.Completion
	for _, one := range interfaces {
		names = append(names, one.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// registerCompletions registers the completion of all flags, chosen by the name of the value in
// their usage.
func registerCompletions(c *cobra.Command) {
	directories := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	functions := map[string]cobra.CompletionFunc{
		"FILE": CompleteFiles(), "KUBECONFIG": CompleteFiles(), "DIR": directories, "DIRECTORY": directories,
		"INTERFACE": completeInterfaces,
	}
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(flag)
		if complete := functions[value]; complete != nil {
			CompleteFlag(c, flag.Name, complete)
		}
	})
	for _, sub := range c.Commands() {
		registerCompletions(sub)
	}
}
