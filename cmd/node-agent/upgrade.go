// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

func newUpgradeCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use: "upgrade",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.ApprovalMissing,
			report.NetworkRolledBack, report.RebootNeeded, report.Interrupted),
		Short: "Move this node to new user data, or resume an upgrade",
		Long: "Upgrade moves this node to the payload of new user data: another release,\n" +
			"another MachineConfig, a renewed pull secret or CA. It downloads and unpacks\n" +
			"everything while pods run; with --stage it ends there. Then it drains the node\n" +
			"only if a change requires it, and restarts only the services that read a\n" +
			"changed file.\n" +
			"Settings that are not given remain those of the join.\n\n" +
			"If the node does not become schedulable, upgrade restores the previous payload\n" +
			"and software. Run it again without options to resume after a stop; the service\n" +
			"resumes it at boot. Print the changes first with: hcp-node-agent plan\n\n" +
			"Steps:\n\n" + stepTable(upgrade.Steps()),
		Example: "  hcp-node-agent plan --user-data user-data.ign\n" +
			"  hcp-node-agent upgrade --user-data user-data.ign\n" +
			"  hcp-node-agent upgrade --user-data user-data.ign --stage\n" +
			"  hcp-node-agent upgrade --rollback",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, upgradeSettings...)
	flags := c.Flags()
	noDrain := flags.Bool("no-drain", false, "do not drain the node")
	drainTimeout := flags.Duration("drain-timeout", upgrade.DefaultDrainTimeout,
		"maximum `DURATION` of the eviction of the pods; a drain that takes longer is undone")
	rollback := flags.Bool("rollback", false, "restore the payload and the software before the last upgrade")
	stage := flags.Bool("stage", false,
		"download and unpack the software, and end before the drain; there is no timeout unless --timeout is given")
	retryImage := flags.Bool("retry-image", false,
		"boot the image of the payload even if it was rolled back on this host before (RHCOS)")
	allowMajor := flags.Bool("allow-major", false,
		"boot the image of the payload although it has another major version of RHEL (RHCOS)")
	c.MarkFlagsMutuallyExclusive("rollback", "stage")
	for _, name := range userDataSettings {
		c.MarkFlagsMutuallyExclusive("rollback", name)
	}
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		if *stage && !flags.Changed("timeout") {
			options.Config.Timeout = 0
		}
		if !flags.Changed("drain-timeout") {
			*drainTimeout = 0 // a resumed drain keeps its timeout
		}
		changed, err := upgrade.Upgrade(ctx, upgrade.Options{
			Options:      options,
			HasInput:     flags.Changed("user-data") || flags.Changed("endpoint"),
			Rollback:     *rollback,
			Stage:        *stage,
			RetryImage:   *retryImage,
			AllowMajor:   *allowMajor,
			NoDrain:      *noDrain,
			DrainTimeout: *drainTimeout,
		})
		return finishSteps(p, "UpgradeResult", changed, err)
	})
	return c
}
