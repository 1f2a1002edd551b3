// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/image"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func newApplyCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "apply",
		Annotations: cli.ExitsWith(report.Refused),
		Short:       "Write an Ignition config to a directory tree, for an image",
		Long: "Apply writes an Ignition config to a directory tree that becomes the root of an\n" +
			"image. It starts and stops no service.",
		Example: "  hcp-node-agent apply --payload worker.ign --root /mnt/image",
		Args:    cli.NoArgs,
	}
	c.Flags().SortFlags = false
	var options image.Options
	c.Flags().StringVar(&options.Payload, "payload", "",
		"Ignition config, or user data: a `FILE`, or - for standard input")
	c.Flags().StringVar(&options.Root, "root", "", "`DIRECTORY` that becomes the root of the image")
	c.Flags().BoolVar(&options.Offline, "offline", false, "reject a config that refers to remote resources")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if options.Payload == "" || options.Root == "" {
			return report.Fail(report.Usage, "", "--payload and --root are required")
		}
		options.Stdin, options.Sink = p.In, p.Sink
		applied, err := image.Apply(c.Context(), options)
		if err != nil {
			return err
		}
		return p.Document(applied, func(w *report.Page) {
			if applied.Changes == 0 {
				fmt.Fprintf(w, "%s already contains the config (entries: %d); nothing was changed\n",
					applied.Root, applied.Entries)
				return
			}
			fmt.Fprintf(w, "%s now contains the config (entries: %d, changes: %d)\n",
				applied.Root, applied.Entries, applied.Changes)
		})
	}
	return c
}
