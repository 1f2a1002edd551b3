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
			config := flags.String("config", "", "the Ignition config: a `FILE`, or - for standard input")
			root := flags.String("root", "", "the `DIRECTORY` that becomes the root of the image")
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				if *config == "" || *root == "" {
					return report.Fail(report.Usage, "see: hcp-node-agent apply --help", "apply needs --config and --root")
				}
				applied, err := bootstrap.Apply(ctx, *config, face.in, *root)
				if err != nil && !face.json {
					return err
				}
				document := applyDocument{applied, resultOf(err)}
				writeErr := face.document(document, func(w io.Writer) {
					fmt.Fprintf(w, "%d of %d entries written to %s, the others were so already\n", applied.Changed, applied.Total, applied.Root)
				})
				if err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}
