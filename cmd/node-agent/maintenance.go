// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/maintenance"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func newMaintenanceCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "maintenance",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.RebootNeeded, report.Interrupted),
		Short:       "Update and reboot this host while its node is drained",
		Long: "Maintenance updates the packages of this host while its node is drained,\n" +
			"reboots the host if an installed update of the kernel, Open vSwitch, systemd or\n" +
			"NetworkManager is not running, and uncordons the node. Packages are downloaded\n" +
			"before the drain. kubelet, CRI-O, cri-tools and Open vSwitch keep the versions\n" +
			"of the payload's release. Without updates and a pending reboot, it does nothing.\n" +
			"A node that the administrator has cordoned remains cordoned.\n\n" +
			"If it fails before a package has changed, the node is uncordoned. Otherwise run\n" +
			"it again to resume; the service resumes it after a reboot and after a stop.\n\n" +
			"Steps:\n\n" + stepTable(maintenance.Steps()),
		Example: "  hcp-node-agent maintenance\n" +
			"  hcp-node-agent maintenance --no-update\n" +
			"  hcp-node-agent maintenance --no-update --reboot",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, "timeout")
	flags := c.Flags()
	noUpdate := flags.Bool("no-update", false,
		"update no packages: only reboot the host if an installed update requires it")
	reboot := flags.Bool("reboot", false, "reboot the host even if no update requires it")
	drainTimeout := flags.Duration("drain-timeout", maintenance.DefaultDrainTimeout,
		"maximum `DURATION` of the eviction of the pods; a drain that takes longer is undone")
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		changed, err := maintenance.Run(ctx, maintenance.Options{
			Options:      options,
			NoUpdate:     *noUpdate,
			Reboot:       *reboot,
			DrainTimeout: *drainTimeout,
		})
		return finishSteps(p, "MaintenanceResult", changed, err)
	})
	return c
}
