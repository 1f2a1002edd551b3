// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// migrate attaches the uplink to br-ex and verifies the result, or restores the
// network.
func (d *Driver) migrate(ctx context.Context, request Request) error {
	m := request.Migration
	if err := d.checkEndpoints(ctx, request.Endpoints); err != nil {
		return report.Fail(report.Refused, report.RemedyOf(err), "%w; nothing was changed", err)
	}
	for _, note := range m.Notes {
		d.Log.Note(note)
	}
	for _, warning := range m.Warnings {
		d.Log.Warn(warning.Message, warning.Remedy)
	}
	if err := d.armRollback(ctx, m.Backup, d.rollbackTimeout()); err != nil {
		return err
	}
	checkpoint, err := d.NM.CreateCheckpoint(ctx, d.rollbackTimeout())
	if err != nil {
		return errors.Join(report.Fail(report.Refused, "# wait until the other change is finished, then rerun the command",
			"another program is changing the network through NetworkManager: %w; nothing was changed", err),
			d.disarmRollback(context.WithoutCancel(ctx)))
	}
	// For the next run, if this one is terminated: until the agent's profiles
	// exist, the owner of a checkpoint cannot be determined.
	m.Backup.Checkpoint = checkpoint
	if err := d.pending().write(m.Backup); err != nil {
		return d.rollBack(ctx, m, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, d.changeTimeout(), errChangeTimeout)
	defer cancel()
	watched, end := context.WithCancelCause(limited)
	defer end(nil)
	stopMeasurement := measureOutage(watched, m.Uplink, m.AddressState, end)
	err = d.attempt(watched, request, checkpoint)
	d.outage = stopMeasurement()
	if err != nil {
		return d.rollBack(ctx, m, err)
	}
	return nil
}

// changeTimeout returns the timeout of the change. It leaves NetworkManager time to commit the change before it rolls
// back itself.
func (d *Driver) changeTimeout() time.Duration { return d.rollbackTimeout() * 3 / 4 }

// errChangeTimeout is the cause of the end of a context after changeTimeout.
var errChangeTimeout = errors.New("the change took too long")

// attempt runs the stages of the migration, including commit.
func (d *Driver) attempt(ctx context.Context, request Request, checkpoint networkmanager.Checkpoint) error {
	m := request.Migration
	a := &migration{
		Driver:        d,
		Migration:     m,
		endpoints:     request.Endpoints,
		checkpoint:    checkpoint,
		addedProfiles: map[string]networkmanager.Ref{},
		nameservers:   respondingServers(ctx, m.Uplink, m.Nameservers),
	}
	defer func() { _ = a.ipv6.release() }() // after a failure br-ex is removed with its addresses
	for _, stage := range a.stages(ovs.HasLeftovers(request.Facts, m.Backup)) {
		d.Log.Wait("waiting for "+stage.what, "")
		if err := stage.do(ctx); err != nil {
			return d.explainEnd(ctx, stage, err)
		}
	}
	return nil
}

// explainEnd returns why ctx ended, if that is why the stage failed with err: the gateway stopped responding, or the
// change has taken too long, with the setting that limits it. Otherwise, it returns err.
func (d *Driver) explainEnd(ctx context.Context, stage stage, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errChangeTimeout):
		return fmt.Errorf("%w: after %s, three quarters of --network-timeout %s, it was still waiting for %s",
			cause, d.changeTimeout(), d.rollbackTimeout(), stage.what)
	case errors.Is(cause, ctx.Err()): // it has not ended, or with its parent
		return err
	default:
		return cause
	}
}

// stage is one part of a migration. The text in what follows "waiting for".
type stage struct {
	what string
	do   func(context.Context) error
}

// stages returns the parts of a migration in their order. Each one is logged
// before it starts. The run can be terminated between any two of them, and the
// safeguards must then restore the network.
func (m *migration) stages(leftover bool) []stage {
	var stages []stage
	add := func(what string, do func(context.Context) error) { stages = append(stages, stage{what, do}) }
	if leftover {
		add("the remains of an earlier migration to be removed", func(ctx context.Context) error {
			return m.removeProfiles(ctx, m.Backup)
		})
	}
	add("NetworkManager to add the profiles of "+ovs.BridgeName, m.addProfiles)
	add("NetworkManager to connect to the Open vSwitch database", m.connectDatabase)
	add(ovs.BridgeName+" to be activated with a copy of the addresses", m.activateStatic)
	add(ovs.BridgeName+" to have a port for "+m.Uplink, func(ctx context.Context) error {
		return m.activate(ctx, ovs.NICPortProfile, networkmanager.Device{})
	})
	add(m.Uplink+" to be attached to "+ovs.BridgeName, m.attachPort)
	if m.Staged.StaticFinalMetric != nil {
		add(ovs.BridgeName+" to have the preferred default route", func(ctx context.Context) error {
			return m.reapply(ctx, m.Staged.StaticFinalMetric)
		})
	}
	add("the new profile of "+m.Uplink+" to be activated", m.activateNIC)
	add(ovs.BridgeName+" to request its own addresses", m.startDHCP)
	add("network connectivity over "+ovs.BridgeName, m.verify)
	add("the profiles to be saved", m.save)
	add("NetworkManager to commit the change", m.commit)
	return stages
}
