// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// requireOne makes another number of arguments than one a usage error with a message.
func requireOne(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(message)
		}
		return nil
	}
}

// requireSome makes a command line without an argument a usage error with a message.
func requireSome(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(message)
		}
		return nil
	}
}

// checkNodeNames checks that arguments can be the names of nodes, and not a part of a path.
func checkNodeNames(_ *cobra.Command, names []string) error {
	for _, name := range names {
		if err := enrollment.CheckNodeName(name); err != nil {
			return report.UsageError("%w", err)
		}
	}
	return nil
}

// completionTimeout limits the completion of names.
const completionTimeout = 2 * time.Second

// completeNames completes arguments with names of a cluster, each once, if the cluster responds quickly.
func completeNames(list func(context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		names, _ := list(ctx) // without a list, the name is not completed
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }),
			cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne completes the first argument only.
func completeOne(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, text)
	}
}
