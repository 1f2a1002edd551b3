package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type applyDocument struct {
	bootstrap.ApplyDocument
	result
}

func applyVerb() verb {
	return verb{
		name: "apply",
		does: "write an Ignition config to a directory tree, for an image; no service is touched",
		prepare: func(flags *pflag.FlagSet) action {
			var options bootstrap.ApplyOptions
			flags.StringVar(&options.Config, "config", "", "the Ignition config, or a user-data stub: a `FILE`, or - for standard input")
			flags.StringVar(&options.Root, "root", "", "the `DIRECTORY` that becomes the root of the image")
			flags.BoolVar(&options.Offline, "offline", false, "refuse a config that refers to anything that is not in it")
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				if options.Config == "" || options.Root == "" {
					return report.Fail(report.Usage, "hcp-node-agent apply --help", "apply needs --config and --root")
				}
				options.Stdin, options.Sink = face.in, face.sink
				applied, err := bootstrap.Apply(ctx, options)
				if err != nil && !face.json {
					return err
				}
				document := applyDocument{applied, resultOf(err)}
				writeErr := face.document(document, func(w io.Writer) {
					if applied.Changes == 0 {
						fmt.Fprintf(w, "%s has the config already (entries: %d); nothing was changed\n", applied.Root, applied.Entries)
						return
					}
					fmt.Fprintf(w, "%s has the config now (entries: %d, changes: %d)\n", applied.Root, applied.Entries, applied.Changes)
				})
				if err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}
