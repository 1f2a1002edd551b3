// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NewRootCommand returns the root command of a program. Its output goes through p. The caller adds
// the subcommands, and then calls CompleteRoot.
func NewRootCommand(p *Printer, short, long, example string) *cobra.Command {
	cobra.EnableCommandSorting = false // keeps the order of use in the help
	root := &cobra.Command{
		Use:                   p.Program.Name + " COMMAND",
		Short:                 short,
		Long:                  long,
		Example:               example,
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableAutoGenTag:     true,
		Annotations:           map[string]string{cobra.CommandDisplayNameAnnotation: p.Program.command()},
	}
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(flagError)
	return root
}

// CompleteRoot adds the generated commands to otherGroup of root, and the flags and completions
// that both programs have. functions contains completions of flags, by the name of the value in
// the flag's usage.
func CompleteRoot(root *cobra.Command, p *Printer, otherGroup string, functions map[string]cobra.CompletionFunc) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpCommandGroupID(otherGroup)
	root.InitDefaultHelpCmd()
	root.SetCompletionCommandGroupID(otherGroup)
	root.InitDefaultCompletionCmd()
	root.PersistentFlags().BoolP("help", "h", false, "print help")
	p.BindFlags(root)

	printVersion := root.Flags().Bool("version", false, "print the version")
	requireSubcommand(root)
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *printVersion {
			return p.printVersion()
		}
		return c.Help()
	}
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || len(rest) == 0 {
					return err
				}
				return unknownCommand(found, rest[0])
			}
		case "completion":
			describeCompletion(c, root.CommandPath())
			requireSubcommand(c)
		}
	}
	registerCompletions(root, functions)
	for _, c := range AvailableCommands(root) {
		c.Long, c.Example = p.Program.Rename(c.Long), p.Program.Rename(c.Example)
	}
}

// describeCompletion removes PowerShell from cobra's command completion, and replaces its help, which is wider than
// a terminal.
func describeCompletion(completion *cobra.Command, program string) {
	completion.Short = "Print the completion script for a shell"
	completion.Long = "The packages install the scripts. Elsewhere, load one in the current shell:\n\n" +
		"    source <(" + program + " completion bash)\n" +
		"    " + program + " completion fish | source"
	for _, shell := range completion.Commands() {
		if shell.Name() == "powershell" {
			completion.RemoveCommand(shell)
		}
		shell.Short, shell.Long = "Print the completion script for "+shell.Name(), ""
		shell.DisableFlagsInUseLine = false
	}
}

// AddGroup adds a group of commands to root.
func AddGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, c := range commands {
		c.GroupID = id
	}
	root.AddCommand(commands...)
}

// NewParentCommand returns a command that only has subcommands.
func NewParentCommand(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name + " COMMAND", Short: short, DisableFlagsInUseLine: true}
	c.AddCommand(subcommands...)
	requireSubcommand(c)
	return c
}

// requireSubcommand makes a command line without a known subcommand of c a usage
// error. Without a Run function cobra would print help and report success.
func requireSubcommand(c *cobra.Command) {
	c.SuggestionsMinimumDistance = 2
	c.Run = func(*cobra.Command, []string) {}
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(c, args[0])
		case c.HasParent():
			return errors.New("a subcommand is required")
		}
		return nil
	}
}

// NoArgs makes an argument of c a usage error.
func NoArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case strings.HasSuffix(args[0], ".ign") && c.Flags().Lookup("user-data") != nil:
		return report.Fail(report.Usage, report.Remedy(c.CommandPath()+" --user-data "+report.ShellWord(args[0])),
			"unexpected argument %q", args[0])
	}
	return fmt.Errorf("unexpected argument %q", args[0])
}

// unknownCommand returns the error for a word that is no subcommand of c.
func unknownCommand(c *cobra.Command, word string) error {
	suggestions := slices.Compact(c.SuggestionsFor(word))
	if root := c.Root(); len(suggestions) == 0 && c.HasParent() {
		for _, name := range root.SuggestionsFor(word) {
			suggestions = append(suggestions, root.DisplayName()+" "+name)
		}
	}
	if len(suggestions) == 0 {
		return fmt.Errorf("unknown command %q", word)
	}
	return fmt.Errorf("unknown command %q; did you mean %s?", word, strings.Join(suggestions, " or "))
}

// AvailableCommands returns c and the commands below it that are not hidden.
func AvailableCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, AvailableCommands(sub)...)
		}
	}
	return all
}

// helpWidth is the width of the help in columns.
const helpWidth = 80

// printUsage prints the usage of a command. Unlike cobra's own, it wraps the
// flags, and has the exit codes of the command.
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
	fmt.Fprintln(w, "\nExit codes:")
	for _, exit := range ExitStatuses(c) {
		fmt.Fprintf(w, "  %-4d %s\n", exit.Code, exit.Short)
	}
	if !c.HasParent() {
		fmt.Fprintf(w, "\nSee: %s COMMAND --help\n", c.CommandPath())
	}
	return nil
}
