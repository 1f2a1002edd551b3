package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

// metricsFile is where node_exporter can be pointed to, or a link led from.
const metricsFile = "/run/hcp-node-agent/metrics.prom"

func runVerb() verb {
	return verb{
		name: "run",
		does: "the service: go on with an unfinished join, then watch the node and tell what is wrong",
		more: "A host that has not joined begins with " + bootstrap.FirstBootDir + "/stub.ign (and node.ticket), or systemd\n" +
			"credentials of these names. What can mend itself before anything is changed is waited for.\n" +
			"It ends when the host has left the cluster. What it finds is in its journal, in systemctl status,\n" +
			"in Events of the Node (oc describe node) and in a file for node_exporter's textfile collector.",
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			metrics := flags.String("metrics-file", metricsFile, "write Prometheus metrics to `FILE`; \"\" writes none")
			return func(ctx context.Context, flags *pflag.FlagSet, face *face) error {
				options, err := optionsFrom(flags, *file, face)
				if err != nil {
					return err
				}
				err = bootstrap.Run(ctx, bootstrap.RunOptions{
					Options: options, Version: version, Metrics: *metrics,
					FirstBoot: bootstrap.FirstBoot{Dir: bootstrap.FirstBootDir, Credentials: os.Getenv("CREDENTIALS_DIRECTORY")},
				})
				face.told = err != nil && stepFailed(face.recorder)
				return err
			}
		},
	}
}
