// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

const (
	// firstBootUnit renames the file at ignition.MachineConfigPath before it reboots the host into the image of the
	// payload, or removes it if the host runs that image (machine-config-operator, pkg/daemon/daemon.go,
	// RunFirstbootCompleteMachineconfig).
	firstBootUnit = "machine-config-daemon-firstboot.service"
	// dependenciesUnit requires the units of the payload that select the address of the node and create br-ex. kubelet
	// requires it (machine-config-operator, templates/common/_base/units/kubelet-dependencies.target.yaml).
	dependenciesUnit = "kubelet-dependencies.target"
)

// awaitFirstBoot waits on RHEL CoreOS while the payload's own units update the image of the host at its first boot,
// which usually ends with a reboot. It fails if these units fail.
func awaitFirstBoot(ctx context.Context, host *machine.Machine, log report.Log) error {
	if !host.Facts.Capabilities().HasFirstBoot {
		return nil
	}
	for waited := false; ; waited = true {
		pending, err := host.Tree.Exists(ignition.MachineConfigPath)
		if err != nil {
			return err
		}
		state, err := host.Systemd.UnitState(ctx, firstBootUnit)
		if err != nil || (!pending && state.Active != "activating") { // the unit renames the file before the reboot
			return err
		}
		failure := report.Fail(report.Failed, "journalctl -b --no-pager -u "+firstBootUnit,
			"%s has not completed the first boot of this host (%s)", firstBootUnit, state.Active)
		if state.Active == "failed" {
			return failure
		}
		if !waited {
			log.Wait("waiting for "+firstBootUnit+" to update the image of this host, and to reboot it",
				report.RemedyOf(failure))
		}
		if wait.Sleep(ctx, time.Second) != nil {
			return report.WaitError(ctx, failure)
		}
	}
}

// recordNewUnits records durably that this boot of RHEL CoreOS must end if the join enables units of the payload: on a
// host that Ignition has provisioned, they are enabled already.
func (b bootSettings) recordNewUnits(ctx context.Context) error {
	if !b.host.Facts.Capabilities().HasFirstBoot || b.run.State.Registered {
		return nil
	}
	pending, err := b.host.Ledger.Diff(ctx, b.plan.Units)
	if err != nil || len(pending) == 0 {
		return err
	}
	return b.recordReboot(true)
}

// bootUnits ends the boot in which units were enabled. The units of the payload prepare the host for kubelet in the
// order of a boot, and other services read their files only then.
func (b bootSettings) bootUnits(ctx context.Context, log report.Log) error {
	if !b.host.Facts.Capabilities().HasFirstBoot || b.run.State.Registered || !b.isBootObsolete() {
		return nil
	}
	command := b.run.CommandName()
	if b.run.Config.HostSettings == config.HostSettingsReboot {
		return b.host.Reboot(ctx, log, command, "with the units of the payload")
	}
	return b.host.RebootNeeded(ctx, command,
		"the files and units of the payload are written; the host must be rebooted before the %s continues", command)
}

// awaitDependencies waits, as the step network on RHEL CoreOS, until the units of the payload have prepared the host
// for kubelet. What later steps record as the state before the network plugin then contains br-ex.
func awaitDependencies(
	ctx context.Context, manager *systemd.Manager, diagnostics node.Host, log report.Log,
) (steps.Outcome, error) {
	state, err := manager.UnitState(ctx, dependenciesUnit)
	if err != nil {
		return steps.Outcome{}, err
	}
	if state.Active != "active" && state.Load == "loaded" {
		log.Wait("waiting for "+dependenciesUnit+", which creates br-ex", "systemctl list-dependencies "+dependenciesUnit)
		if err := manager.Start(ctx, dependenciesUnit); err != nil {
			return steps.Outcome{}, diagnostics.ExplainStartFailure(ctx, dependenciesUnit, err)
		}
	}
	return steps.Unchanged("left to ovs-configuration.service of the payload")
}
