// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// flagError returns the error for a flag that was parsed with err. The message for an invalid value
// is the same as for the environment and configuration files. A flag is unknown to a command that only has
// subcommands because the word before it is none of them.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		if words := c.Flags().Args(); len(words) > 0 && c.HasSubCommands() {
			return unknownCommand(c, words[0])
		}
		return err
	}
	flag, value, cause := invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap()
	if _, err := report.ParseDuration(value); err != nil && flag.Value.Type() == "duration" {
		cause = err
	}
	return errors.New(report.InvalidValue("--"+flag.Name, value, cause))
}

// exclusiveFlags matches cobra's message about flags of a group of which only one can be set.
var exclusiveFlags = regexp.MustCompile(`none of the others can be; \[(\S+) (\S+).*\] were all set$`)

// explainFlags replaces cobra's message about flags that exclude each other.
func explainFlags(err error) error {
	if names := exclusiveFlags.FindStringSubmatch(err.Error()); names != nil {
		return fmt.Errorf("--%s and --%s exclude each other", names[1], strings.TrimSuffix(names[2], "]"))
	}
	return err
}

// EnumFlag binds a flag of c and its subcommands that has one of a few values,
// the first by default.
func EnumFlag(c *cobra.Command, name, shorthand, usage string, values ...string) *string {
	value := c.PersistentFlags().StringP(name, shorthand, values[0], usage)
	config.AddCheck(c.PersistentFlags().Lookup(name), config.OneOf(values))
	CompleteFlag(c, name, CompleteValue(values))
	return value
}

// CompleteFlag registers the completion of a flag. It exits if the flag does not exist or already has a completion.
func CompleteFlag(c *cobra.Command, name string, complete cobra.CompletionFunc) {
	cobra.CheckErr(c.RegisterFlagCompletionFunc(name, complete))
}

// CompleteValue completes one of a few values.
func CompleteValue(values []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
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

// registerCompletions registers the completion of all flags, chosen by the name of the value in
// their usage: files, directories, and those in functions.
func registerCompletions(c *cobra.Command, functions map[string]cobra.CompletionFunc) {
	directories := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	all := map[string]cobra.CompletionFunc{
		"FILE": CompleteFiles(), "KUBECONFIG": CompleteFiles(), "DIR": directories, "DIRECTORY": directories,
	}
	maps.Copy(all, functions)
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		value, _ := pflag.UnquoteUsage(flag)
		if complete := all[value]; complete != nil {
			CompleteFlag(c, flag.Name, complete)
		}
	})
	for _, sub := range c.Commands() {
		registerCompletions(sub, functions)
	}
}
