// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

const (
	// encapsulatedPath is the file that Ignition writes on RHEL CoreOS, and that firstBootUnit renames before it reboots
	// the host into the image of the payload, or removes if the host runs that image (machine-config-operator,
	// pkg/daemon/daemon.go, RunFirstbootCompleteMachineconfig).
	encapsulatedPath = "/etc/ignition-machine-config-encapsulated.json"
	firstBootUnit    = "machine-config-daemon-firstboot.service"
)

// awaitFirstBoot waits on RHEL CoreOS while the payload's own units update the image of the host at its first boot,
// which usually ends with a reboot. It fails if these units fail.
func (j *Flow) awaitFirstBoot(ctx context.Context, log report.Log) error {
	if j.Host.Facts.Class() != hostinfo.CoreOS {
		return nil
	}
	for waited := false; ; waited = true {
		pending, err := j.Host.Tree.Exists(encapsulatedPath)
		if err != nil || !pending {
			return err
		}
		state, err := j.Host.Systemd.UnitState(ctx, firstBootUnit)
		if err != nil {
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
