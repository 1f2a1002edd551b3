// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ServiceUnit is the unit of the service.
const ServiceUnit = "hcp-node-agent.service"

// StartService starts the service if it is enabled and not running. The service
// then watches the node or continues its join.
func StartService(ctx context.Context, sink report.Sink) {
	if err := startIfEnabled(ctx); err != nil {
		report.Log{Sink: sink, Step: "end"}.Warn("the node is not monitored until the next boot: "+err.Error(),
			"systemctl start "+ServiceUnit)
	}
}

func startIfEnabled(ctx context.Context) error {
	manager, err := systemd.Open(ctx)
	if err != nil {
		return err
	}
	defer manager.Close()
	unit, err := manager.UnitState(ctx, ServiceUnit)
	if err != nil || unit.File != "enabled" || (unit.Active != "inactive" && unit.Active != "failed") {
		return err
	}
	return manager.StartNoWait(ctx, ServiceUnit)
}

// StopService stops the service, which has nothing to watch on a host that leaves,
// and resets its failed state. The service refuses to start during a leave.
func (m *Machine) StopService(ctx context.Context) error {
	unit, err := m.Systemd.UnitState(ctx, ServiceUnit)
	if err != nil || unit.Load != "loaded" {
		return err
	}
	if unit.Active != "inactive" && unit.Active != "failed" {
		if err := m.Systemd.Stop(ctx, ServiceUnit); err != nil {
			return err
		}
	}
	return m.Systemd.ResetFailed(ctx, ServiceUnit)
}
