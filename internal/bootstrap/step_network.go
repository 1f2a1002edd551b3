// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// attachUplink attaches the uplink to br-ex and configures the services that use
// the bridge.
func attachUplink(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	if !j.Session.AttachesUplink() {
		return awaitDependencies(ctx, j.Host.Systemd, j.diagnostics(), log)
	}
	attachment := uplinkAttachment{
		run:       j.Run,
		host:      j.Host,
		uplink:    j.Uplink,
		endpoints: j.Run.RequiredEndpoints(j.Loaded.Payload),
		plan:      j.Plan,
	}
	return attachment.attach(ctx, log)
}

// uplinkAttachment attaches the uplink to br-ex and configures the services that use the bridge.
type uplinkAttachment struct {
	run       *plan.Run
	host      *machine.Machine
	uplink    *plan.Uplink
	endpoints []migrate.Endpoint // must be reachable before and afterwards
	plan      *plan.Plan         // nil if the step is run alone
}

// attach makes the changes and returns the outcome of the step.
func (u uplinkAttachment) attach(ctx context.Context, log report.Log) (steps.Outcome, error) {
	u.host.Bridge.RollbackTimeout = time.Duration(u.run.Config.NetworkTimeout)
	u.host.Bridge.Log = log
	if err := u.host.Bridge.RemoveTruncatedDatabase(ctx); err != nil {
		return steps.Outcome{}, err
	}
	// Recover before Open vSwitch is started, which would attach the NIC again.
	if err := u.host.Bridge.Recover(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := u.uplink.CheckAccess(ctx); err != nil { // before anything is changed
		return steps.Outcome{}, err
	}
	if err := u.startOpenVSwitch(ctx); err != nil {
		return steps.Outcome{}, err
	}
	// Record after Open vSwitch is started and before br-ex exists: leave then removes
	// the plugin's state after br-ex and before it stops Open vSwitch.
	if err := recordPlugin(ctx, u.host.Ledger, u.run.State, steps.Network); err != nil {
		return steps.Outcome{}, err
	}
	request, err := u.currentMigration(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	u.host.Bridge.Request = &request
	requested := append(request.Migration.FilesBeforeMigration(), request.Change())
	made, err := u.host.Ledger.Apply(ctx, steps.Network, requested)
	u.host.Bridge.Request = nil // later steps change the network
	if err != nil {
		return steps.Outcome{}, err
	}
	if len(made) > 0 {
		u.uplink.Forget() // br-ex has taken over the uplink
	}
	facts, err := u.uplink.Facts(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	changes, err := u.configureBridgeConsumers(ctx, facts)
	if err != nil {
		return steps.Outcome{}, err
	}
	status := ovs.StatusOf(facts)
	if len(made) > 0 {
		if err := u.recordMigration(status); err != nil {
			return steps.Outcome{}, err
		}
	}
	if len(made)+changes == 0 {
		return steps.Unchanged("%s", status)
	}
	return steps.Changed("%s", u.host.Bridge.Summary(status, request.Endpoints))
}

// currentMigration plans the migration with the current facts, because a rollback must restore the current
// addresses and leases, which can have changed while packages were installed. It reports what differs from the
// plan of the join.
func (u uplinkAttachment) currentMigration(ctx context.Context, log report.Log) (migrate.Request, error) {
	if err := u.uplink.Await(ctx, log); err != nil {
		return migrate.Request{}, err
	}
	migration, facts, err := u.uplink.PlanMigration(ctx)
	request := migrate.Request{Migration: migration, Endpoints: u.endpoints, Facts: facts}
	if err != nil || u.plan == nil || u.plan.Migration == nil {
		return request, err
	}
	for _, difference := range migration.Differences(*u.plan.Migration) {
		log.Note("the host's network has changed since the plan: " + difference)
	}
	return request, nil
}

// recordPlugin records, once, the state of the host's network before the network
// plugin changes it. If the plugin may have run already, the original state cannot
// be determined and is not recorded. This is the case if an older agent, which did
// not record that state, joined the host.
func recordPlugin(ctx context.Context, l *ledger.Ledger, state joinstate.State, step string) error {
	recorded := slices.ContainsFunc(l.Items(),
		func(item ledger.Item) bool { return item.Kind == networkplugin.Kind })
	if recorded || state.HasCompleted(steps.Kubelet) {
		return nil
	}
	_, err := l.TrackExternal(ctx, step, networkplugin.NewChange())
	return err
}

// startOpenVSwitch starts Open vSwitch and enables it at boot; otherwise the host
// would have no network after the next boot. If a preset, an alias or another unit
// starts it at boot, that configuration remains unchanged.
func (u uplinkAttachment) startOpenVSwitch(ctx context.Context) error {
	const unit = openvswitch.Unit
	vswitch := runningUnit(unit)
	vswitch.Reason = "br-ex is an Open vSwitch bridge"
	state, err := u.host.Systemd.UnitState(ctx, unit)
	if err != nil {
		return err
	}
	if state.File == "disabled" {
		vswitch.Desired.Enabled = "enabled"
	}
	started, err := u.host.Ledger.Apply(ctx, steps.Network, []ledger.Change{vswitch})
	if err != nil || len(started) == 0 {
		return err
	}
	return u.host.Bridge.SyncDatabase()
}

// configureBridgeConsumers writes the files that other services read about br-ex,
// and enables the units that maintain them at boot. It returns the number of
// changes.
func (u uplinkAttachment) configureBridgeConsumers(ctx context.Context, facts ovs.Facts) (int, error) {
	declared, err := u.uplink.DeclaredBridge()
	if err != nil {
		return 0, err
	}
	files, err := ovs.Files(facts, declared)
	if err != nil {
		return 0, err
	}
	clears, err := u.payloadClearsRemote(ctx)
	if err != nil {
		return 0, err
	}
	units, enablement := bootunits.Changes(clears)
	changes, err := u.host.Ledger.Apply(ctx, steps.Network, append(files, units...))
	if err != nil {
		return 0, err
	}
	enabled, err := u.host.Ledger.Apply(ctx, steps.Network, enablement)
	if err != nil {
		return 0, err
	}
	return len(changes) + len(enabled), u.host.ReloadUnits(ctx)
}

// payloadClearsRemote reports whether the payload's own unit clears ovn-remote at
// every boot. The unit must exist and be enabled; if its script does not clear
// ovn-remote, a rule of package ignition adds that. A step that is run alone has no
// payload, but an earlier join may have enabled the unit.
func (u uplinkAttachment) payloadClearsRemote(ctx context.Context) (bool, error) {
	if u.plan != nil {
		return enablesOVSConfiguration(u.plan.Units), nil
	}
	if !u.run.State.Exists() {
		return false, nil
	}
	state, err := u.host.Systemd.UnitState(ctx, ovsConfigurationUnit)
	return state.File == "enabled", err
}

const ovsConfigurationUnit = "ovs-configuration.service"

func enablesOVSConfiguration(units []ledger.Change) bool {
	return slices.ContainsFunc(units, func(c ledger.Change) bool {
		return c.Target == ovsConfigurationUnit && c.Desired.Enabled == "enabled"
	})
}

// recordMigration saves a record of the finished migration for the status command.
func (u uplinkAttachment) recordMigration(status ovs.Status) error {
	content, err := u.host.Bridge.Record(status, time.Now()).Encode()
	if err != nil {
		return err
	}
	return joinstate.SaveFile(u.run.Dir, joinstate.BridgeRecordFile, content)
}
