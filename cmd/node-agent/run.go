// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

// metricsFile is the default file for the textfile collector of node_exporter. The DaemonSet in
// deploy/monitoring mounts its directory, so that the directory must not contain anything else.
const metricsFile = "/run/hcp-node-agent/metrics/hcp-node-agent.prom"

func newRunCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use: "run",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing,
			report.NetworkRolledBack, report.RebootNeeded, report.Interrupted),
		Short: "Run as the service: resume a join, then monitor the node",
		Long: `Run resumes an unfinished join, upgrade or maintenance, then monitors the node.
A host that has not joined starts with ` + autojoin.DefaultDir + `/user-data.ign (and
node.token), or systemd credentials of these names. Temporary failures before
the first change are retried. It exits when the host has left the cluster.
Findings are written to the journal, to systemctl status, to Events of the Node
(oc describe node) and to a file for the textfile collector of node_exporter.

With --repair, or repair: true in the configuration file, it registers a deleted
Node again, configures kubelet and CRI-O with a changed node address, adds a new
CA of the API server for kubelet, and restores drift. Each repair is written to
the journal and is an Event.`,
		Args: cli.NoArgs,
	}
	file := settingFlags(c, "timeout", "repair")
	metrics := c.Flags().String("metrics-file", metricsFile, "write Prometheus metrics to `FILE`; \"\" writes none")
	divisor := c.Flags().Int("interval-divisor", 1, "divide the intervals of the checks by `N`, for tests")
	_ = c.Flags().MarkHidden("interval-divisor") // the flag exists
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		return service.Run(ctx, service.Options{
			Options: options, Version: version, Metrics: *metrics, IntervalDivisor: *divisor,
			AutoJoin: autojoin.Files{Dir: autojoin.DefaultDir, Credentials: os.Getenv("CREDENTIALS_DIRECTORY")},
		})
	})
	return c
}
