package bootstrap

import (
	"context"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planMigration plans the migration of the uplink to br-ex.
func (j *operation) planMigration(ctx context.Context) (ovs.Migration, error) {
	facts, err := ovs.Gather(ctx, j.nm)
	if err != nil {
		return ovs.Migration{}, err
	}
	return ovs.Plan(facts, ovs.Options{BridgeInterface: j.config.BridgeInterface})
}

// attachUplink attaches the uplink to br-ex and configures the services that use
// the bridge.
func attachUplink(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	j.bridge.RollbackTimeout = time.Duration(j.config.NetworkTimeout)
	j.bridge.Prepare(ovs.Migration{}, log, nil)
	if err := j.bridge.RemoveTruncatedDatabase(ctx); err != nil {
		return outcome{}, err
	}
	// Recover before Open vSwitch is started, which would attach the NIC again.
	if err := j.bridge.Recover(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.startOpenVSwitch(ctx); err != nil {
		return outcome{}, err
	}
	// Record after Open vSwitch is started and before br-ex exists: leave then removes
	// the plugin's state after br-ex and before it stops Open vSwitch.
	if err := j.recordPlugin(ctx, "network"); err != nil {
		return outcome{}, err
	}
	move, err := j.planMigration(ctx)
	if err != nil {
		return outcome{}, err
	}
	j.bridge.Prepare(move, log, j.requiredEndpoints())
	made, err := j.ledger.Apply(ctx, "network", append(move.FilesBeforeMigration(), move.Change()))
	if err != nil {
		return outcome{}, err
	}
	told, err := j.configureBridgeConsumers(ctx)
	if err != nil {
		return outcome{}, err
	}
	status, err := ovs.GatherStatus(ctx, j.nm)
	if err != nil {
		return outcome{}, err
	}
	if len(made) > 0 {
		if err := j.recordMigration(status); err != nil {
			return outcome{}, err
		}
	}
	if len(made)+told == 0 {
		return unchanged("%s", status)
	}
	return changed("%s", j.bridge.Summary(status))
}

// recordPlugin records, once, the state of the host's network before the network
// plugin changes it. If the plugin may have run already, the original state cannot
// be determined and is not recorded. This is the case if an older agent, which did
// not record that state, joined the host.
func (j *operation) recordPlugin(ctx context.Context, step string) error {
	recorded := slices.ContainsFunc(j.ledger.Items(), func(item ledger.Item) bool { return item.Kind == networkplugin.Kind })
	if recorded || j.state.hasCompleted("kubelet") {
		return nil
	}
	_, err := j.ledger.TrackExternal(ctx, step, networkplugin.NewChange())
	return err
}

// startOpenVSwitch starts Open vSwitch and enables it at boot; otherwise the host
// would have no network after the next boot. If a preset, an alias or another unit
// starts it at boot, that configuration remains unchanged.
func (j *operation) startOpenVSwitch(ctx context.Context) error {
	const unit = "openvswitch.service"
	vswitch := runningUnit(unit)
	vswitch.Reason = "br-ex is an Open vSwitch bridge"
	state, err := j.systemd.UnitState(ctx, unit)
	if err != nil {
		return err
	}
	if state.File == "disabled" {
		vswitch.Desired.Enabled = "enabled"
	}
	started, err := j.ledger.Apply(ctx, "network", []ledger.Change{vswitch})
	if err != nil || len(started) == 0 {
		return err
	}
	return j.bridge.SyncDatabase()
}

// configureBridgeConsumers writes the files that other services read about br-ex,
// and enables the units that maintain them at boot. It returns the number of
// changes.
func (j *operation) configureBridgeConsumers(ctx context.Context) (int, error) {
	facts, err := ovs.Gather(ctx, j.nm)
	if err != nil {
		return 0, err
	}
	files, err := ovs.Files(facts)
	if err != nil {
		return 0, err
	}
	clears, err := j.payloadClearsRemote(ctx)
	if err != nil {
		return 0, err
	}
	units, enablement := ovs.BootUnits(clears)
	told, err := j.ledger.Apply(ctx, "network", append(files, units...))
	if err != nil {
		return 0, err
	}
	if len(told) > 0 {
		if err := j.systemd.Reload(ctx); err != nil {
			return 0, err
		}
	}
	enabled, err := j.ledger.Apply(ctx, "network", enablement)
	return len(told) + len(enabled), err
}

// payloadClearsRemote reports whether the payload's own unit clears ovn-remote at
// every boot. The unit must exist and be enabled; if its script does not clear
// ovn-remote, a rule of package ignition adds that. A step that is run alone has no
// payload, but an earlier join may have enabled the unit.
func (j *operation) payloadClearsRemote(ctx context.Context) (bool, error) {
	if j.plan != nil || !j.state.Exists() {
		return enablesOVSConfiguration(j.plan), nil
	}
	state, err := j.systemd.UnitState(ctx, ovsConfigurationUnit)
	return state.File == "enabled", err
}

const ovsConfigurationUnit = "ovs-configuration.service"

func enablesOVSConfiguration(plan *ignition.Plan) bool {
	return plan != nil && slices.ContainsFunc(plan.Units, func(c ledger.Change) bool {
		return c.Target == ovsConfigurationUnit && c.Desired.Enabled == "enabled"
	})
}

// recordMigration saves a record of the finished migration for the status command.
func (j *operation) recordMigration(status ovs.Status) error {
	content, err := j.bridge.Record(status, time.Now()).Encode()
	if err != nil {
		return err
	}
	return saveFile(j.dir, bridgeRecordFile, content)
}
