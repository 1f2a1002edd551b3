// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
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
func (j *Flow) awaitFirstBoot(ctx context.Context, log report.Log) error {
	if !j.Host.Facts.Capabilities().HasFirstBoot {
		return nil
	}
	for waited := false; ; waited = true {
		pending, err := j.Host.Tree.Exists(ignition.MachineConfigPath)
		if err != nil {
			return err
		}
		state, err := j.Host.Systemd.UnitState(ctx, firstBootUnit)
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
func (j *Flow) recordNewUnits(ctx context.Context) error {
	if !j.Host.Facts.Capabilities().HasFirstBoot || j.Run.State.Registered {
		return nil
	}
	pending, err := j.Host.Ledger.Diff(ctx, j.Plan.Units)
	if err != nil || len(pending) == 0 {
		return err
	}
	return j.recordReboot(true)
}

// bootUnits ends the boot in which units were enabled. The units of the payload prepare the host for kubelet in the
// order of a boot, and other services read their files only then.
func (j *Flow) bootUnits(ctx context.Context, log report.Log) error {
	if !j.Host.Facts.Capabilities().HasFirstBoot || j.Run.State.Registered || !j.isBootObsolete() {
		return nil
	}
	command := j.Run.CommandName()
	if j.Run.Config.HostSettings == config.HostSettingsReboot {
		return j.Host.Reboot(ctx, log, command, "with the units of the payload")
	}
	return j.Host.RebootNeeded(ctx, command,
		"the files and units of the payload are written; the host must be rebooted before the %s continues", command)
}

// awaitDependencies waits, as the step network on RHEL CoreOS, until the units of the payload have prepared the host
// for kubelet. What later steps record as the state before the network plugin then contains br-ex.
func (j *Flow) awaitDependencies(ctx context.Context, log report.Log) (steps.Outcome, error) {
	state, err := j.Host.Systemd.UnitState(ctx, dependenciesUnit)
	if err != nil {
		return steps.Outcome{}, err
	}
	if state.Active != "active" && state.Load == "loaded" {
		log.Wait("waiting for "+dependenciesUnit+", which creates br-ex", "systemctl list-dependencies "+dependenciesUnit)
		if err := j.Host.Systemd.Start(ctx, dependenciesUnit); err != nil {
			return steps.Outcome{}, j.Session.DiagnosticsHost(j.Loaded.Payload).ExplainStartFailure(ctx, dependenciesUnit, err)
		}
	}
	return steps.Unchanged("left to ovs-configuration.service of the payload")
}
