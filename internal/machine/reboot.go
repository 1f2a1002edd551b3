// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Reboot reboots the host for a command of the agent, which resumes after the boot. It returns the
// failure that ends the run. reason follows "rebooting the host".
func (m *Machine) Reboot(ctx context.Context, log report.Log, name, reason string) error {
	resume := m.DescribeResume(ctx, name)
	log.Note("rebooting the host " + reason + "; " + resume)
	if err := m.startReboot(ctx); err != nil {
		return report.Fail(report.RebootNeeded, "# reboot this host: systemctl reboot",
			"the host must be rebooted %s: %w", reason, err)
	}
	return report.Fail(report.RebootNeeded, report.Remedy("# "+resume), "the host is rebooting %s", reason)
}

// RebootNeeded returns the failure that ends a run of a command of the agent until the administrator has rebooted the
// host.
func (m *Machine) RebootNeeded(ctx context.Context, name, format string, args ...any) error {
	remedy := report.RebootRemedy + "; " + m.DescribeResume(ctx, name)
	return report.Fail(report.RebootNeeded, report.Remedy(remedy), format, args...)
}

// finalizeUnit writes the boot entry of a staged deployment when it stops, at shutdown. Without a staged deployment,
// its condition is not met.
const finalizeUnit = "ostree-finalize-staged.service"

// startReboot starts the reboot. In image mode, it makes sure first that the shutdown finalizes a staged deployment:
// the path unit that starts finalizeUnit may not have done so yet (OCPBUGS-51150).
func (m *Machine) startReboot(ctx context.Context) error {
	if m.Facts.Capabilities().HasImage {
		if err := m.Systemd.Start(ctx, finalizeUnit); err != nil {
			return err
		}
	}
	_, err := command.Run(ctx, "systemctl", "reboot")
	return err
}

// DescribeResume returns how a command of the agent continues after a reboot.
func (m *Machine) DescribeResume(ctx context.Context, name string) string {
	unit, err := m.Systemd.UnitState(ctx, ServiceUnit)
	if err == nil && unit.File == "enabled" {
		return ServiceUnit + " then resumes the " + name
	}
	return "then resume it: hcp-node-agent " + name
}
