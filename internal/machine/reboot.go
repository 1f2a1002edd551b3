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
	if _, err := command.Run(ctx, "systemctl", "reboot"); err != nil {
		return report.Fail(report.RebootNeeded, "# reboot this host: systemctl reboot",
			"the host must be rebooted %s: %w", reason, err)
	}
	return report.Fail(report.RebootNeeded, report.Remedy("# "+resume), "the host is rebooting %s", reason)
}

// DescribeResume returns how a command of the agent continues after a reboot.
func (m *Machine) DescribeResume(ctx context.Context, name string) string {
	unit, err := m.Systemd.UnitState(ctx, ServiceUnit)
	if err == nil && unit.File == "enabled" {
		return ServiceUnit + " then resumes the " + name
	}
	return "then resume it: hcp-node-agent " + name
}
