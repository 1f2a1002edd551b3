package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const programName = "hcp-node-agent"

// Groups of commands in the help.
const (
	nodeGroup    = "node"
	imageGroup   = "image"
	clusterGroup = "cluster"
	otherGroup   = "other"
)

// newRootCommand returns the root command with all subcommands. Their output goes through p.
func newRootCommand(p *Printer) *cobra.Command {
	cobra.EnableCommandSorting = false // keeps the order of use in the help
	root := &cobra.Command{
		Use:   programName + " COMMAND",
		Short: "Turn a RHEL machine into a worker of a Hosted Control Plane cluster",
		Long: `hcp-node-agent turns a RHEL machine into a worker of an OpenShift Hosted
Control Plane (HyperShift) cluster, NodePool platform None, from the NodePool's
user data. It can be stopped, killed or rebooted at any time: the same command
resumes where it stopped. Every change to the host is recorded first, and leave
reverts them all.`,
		Example:               "  hcp-node-agent join --user-data stub.ign",
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableAutoGenTag:     true,
	}
	root.AddGroup(
		&cobra.Group{ID: nodeGroup, Title: "Node commands:"},
		&cobra.Group{ID: imageGroup, Title: "Image commands:"},
		&cobra.Group{ID: clusterGroup, Title: "Cluster commands:"},
		&cobra.Group{ID: otherGroup, Title: "Other commands:"},
	)
	root.AddCommand(InGroup(
		nodeGroup, newJoinCommand(p), newPlanCommand(p), newPreflightCommand(p), newStatusCommand(p), newDoctorCommand(p),
		newLeaveCommand(p), newRunCommand(p), newNodeIPCommand(p), newUplinkNameCommand(p))...)
	root.AddCommand(InGroup(imageGroup, newApplyCommand(p))...)
	root.AddCommand(InGroup(
		clusterGroup, NewParentCommand("token", "Create and print join tokens", newTokenCreateCommand(p), newTokenShowCommand(p)),
		newApproveCommand(p))...)
	root.AddCommand(InGroup(
		otherGroup, NewParentCommand("config", "Print and validate the configuration", newConfigShowCommand(p), newConfigValidateCommand(p)),
		NewVersionCommand(p), NewDocsCommand(p))...)

	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetUsageFunc(printUsage)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpCommandGroupID(otherGroup)
	root.InitDefaultHelpCmd()
	root.SetCompletionCommandGroupID(otherGroup)
	root.InitDefaultCompletionCmd()
	root.PersistentFlags().BoolP("help", "h", false, "print help")
	p.BindFlags(root)

	printVersion := root.Flags().Bool("version", false, "print the version")
	RequireSubcommand(root)
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *printVersion {
			return p.PrintVersion()
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
			RequireSubcommand(c)
		}
	}
	registerCompletions(root)
	return root
}

func InGroup(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = group
	}
	return commands
}

// NewParentCommand returns a command that only has subcommands.
func NewParentCommand(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name + " COMMAND", Short: short, DisableFlagsInUseLine: true}
	c.AddCommand(subcommands...)
	RequireSubcommand(c)
	return c
}

// RequireSubcommand makes a command line without a known subcommand of c a usage
// error. Without a Run function cobra would print help and report success.
func RequireSubcommand(c *cobra.Command) {
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

// unknownCommand returns the error for a word that is no subcommand of c.
func unknownCommand(c *cobra.Command, word string) error {
	suggestions := slices.Compact(c.SuggestionsFor(word))
	if len(suggestions) == 0 {
		return fmt.Errorf("unknown command %q", word)
	}
	return fmt.Errorf("unknown command %q; did you mean %s?", word, strings.Join(suggestions, " or "))
}
