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

// move plans the migration of the uplink to br-ex.
func (j *join) move(ctx context.Context) (ovs.Migration, error) {
	facts, err := ovs.Gather(ctx, j.nm)
	if err != nil {
		return ovs.Migration{}, err
	}
	return ovs.Plan(facts, ovs.Options{BridgeInterface: j.config.BridgeInterface})
}

// buildBridge attaches the uplink to br-ex and configures the services that use
// the bridge.
func buildBridge(ctx context.Context, j *join, log report.Log) (outcome, error) {
	j.bridge.RollbackTimeout = time.Duration(j.config.NetworkTimeout)
	j.bridge.Prepare(ovs.Migration{}, log, nil)
	if err := j.bridge.RemoveTruncatedDatabase(ctx); err != nil {
		return outcome{}, err
	}
	// Recover before Open vSwitch is started, which would claim the NIC again.
	if err := j.bridge.Recover(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.startSwitch(ctx); err != nil {
		return outcome{}, err
	}
	// Record after Open vSwitch is started and before br-ex exists: leave then removes
	// the plugin's state after br-ex and before it stops Open vSwitch.
	if err := j.recordPlugin(ctx, "network"); err != nil {
		return outcome{}, err
	}
	move, err := j.move(ctx)
	if err != nil {
		return outcome{}, err
	}
	j.bridge.Prepare(move, log, j.reach())
	made, err := j.ledger.Apply(ctx, "network", append(move.Before(), move.Change()))
	if err != nil {
		return outcome{}, err
	}
	told, err := j.tellBridge(ctx)
	if err != nil {
		return outcome{}, err
	}
	status, err := ovs.GatherStatus(ctx, j.nm)
	if err != nil {
		return outcome{}, err
	}
	if len(made) > 0 {
		if err := j.recordMove(status); err != nil {
			return outcome{}, err
		}
	}
	if len(made)+told == 0 {
		return same("%s", status)
	}
	return changed("%s", j.bridge.Summary(status))
}

// recordPlugin records, once, the state of the host's network before the network
// plugin changes it. If the plugin may have run already, the original state cannot
// be determined and is not recorded. This is the case if an older agent, which did
// not record that state, joined the host.
func (j *join) recordPlugin(ctx context.Context, step string) error {
	recorded := slices.ContainsFunc(j.ledger.Items(), func(item ledger.Item) bool { return item.Kind == networkplugin.Kind })
	if recorded || j.state.behind("kubelet") {
		return nil
	}
	_, err := j.ledger.Bracket(ctx, step, networkplugin.NewChange())
	return err
}

// startSwitch starts Open vSwitch and enables it at boot; otherwise the host
// would have no network after the next boot. If a preset, an alias or another unit
// starts it at boot, that configuration remains unchanged.
func (j *join) startSwitch(ctx context.Context) error {
	const unit = "openvswitch.service"
	vswitch := running(unit)
	vswitch.Why = "br-ex is an Open vSwitch bridge"
	state, err := j.systemd.UnitState(ctx, unit)
	if err != nil {
		return err
	}
	if state.File == "disabled" {
		vswitch.Want.Enabled = "enabled"
	}
	started, err := j.ledger.Apply(ctx, "network", []ledger.Change{vswitch})
	if err != nil || len(started) == 0 {
		return err
	}
	return j.bridge.SyncDatabase()
}

// tellBridge writes the files that other services read about br-ex,
// and enables the units that maintain them at boot. It returns the number of
// changes.
func (j *join) tellBridge(ctx context.Context) (int, error) {
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
func (j *join) payloadClearsRemote(ctx context.Context) (bool, error) {
	if j.plan != nil || !j.state.Known() {
		return enablesConfiguration(j.plan), nil
	}
	state, err := j.systemd.UnitState(ctx, configurationUnit)
	return state.File == "enabled", err
}

const configurationUnit = "ovs-configuration.service"

func enablesConfiguration(plan *ignition.Plan) bool {
	return plan != nil && slices.ContainsFunc(plan.Units, func(c ledger.Change) bool {
		return c.Target == configurationUnit && c.Want.Enabled == "enabled"
	})
}

// recordMove saves a record of the finished migration for the status command.
func (j *join) recordMove(status ovs.Status) error {
	content, err := j.bridge.Record(status, time.Now()).Encode()
	if err != nil {
		return err
	}
	return keep(j.dir, bridgeFile, content)
}
