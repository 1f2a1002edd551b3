// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/fleet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// connectFleet prepares the connection to the hosted cluster.
func connectFleet(ctx context.Context, flags *clusterFlags, p *cli.Printer) (fleet.Client, error) {
	hosted, err := flags.connectHosted(ctx, p)
	return fleet.Client{Cluster: hosted}, err
}

// objectPrinter returns a printer of objects in a format of kubectl: json, yaml or name.
func objectPrinter(format string) printers.ResourcePrinter {
	return map[string]printers.ResourcePrinter{
		"json": &printers.JSONPrinter{}, "yaml": &printers.YAMLPrinter{}, "name": &printers.NamePrinter{},
	}[format]
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

// completeFrom completes arguments with names of the hosted cluster.
func completeFrom(
	flags *clusterFlags, list func(fleet.Client, context.Context) ([]string, error),
) cobra.CompletionFunc {
	return completeNames(func(ctx context.Context, stdin io.Reader) ([]string, error) {
		client, err := connectFleet(ctx, flags, newPrinter(cli.Streams{In: stdin}))
		if err != nil {
			return nil, err
		}
		return list(client, ctx)
	})
}

// completeNames completes arguments with names of a cluster, each once, if the cluster responds quickly.
func completeNames(list func(ctx context.Context, stdin io.Reader) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		names, _ := list(ctx, c.InOrStdin()) // without a list, the name is not completed
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
