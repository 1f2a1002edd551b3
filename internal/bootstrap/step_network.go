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

// move decides what becomes of the uplink.
func (j *join) move(ctx context.Context) (ovs.Migration, error) {
	facts, err := ovs.Gather(ctx, j.nm)
	if err != nil {
		return ovs.Migration{}, err
	}
	return ovs.Plan(facts, ovs.Options{BridgeInterface: j.config.BridgeInterface})
}

// buildBridge moves the uplink into br-ex and tells others where it is.
func buildBridge(ctx context.Context, j *join, log report.Log) (outcome, error) {
	j.bridge.RollbackTimeout = time.Duration(j.config.NetworkTimeout)
	j.bridge.Prepare(ovs.Migration{}, log, nil)
	if err := j.bridge.RemoveTruncatedDatabase(ctx); err != nil {
		return outcome{}, err
	}
	// Before Open vSwitch is started, which would take the NIC again.
	if err := j.bridge.Recover(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.startSwitch(ctx); err != nil {
		return outcome{}, err
	}
	// After Open vSwitch is started and before br-ex exists: leave then removes the
	// plugin's state after br-ex and before it stops Open vSwitch.
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
// plugin changes it. On a host on which the plugin can have run already, since
// the agent that joined it did not record that state, it is unknown for good.
func (j *join) recordPlugin(ctx context.Context, step string) error {
	recorded := slices.ContainsFunc(j.ledger.Items(), func(item ledger.Item) bool { return item.Kind == networkplugin.Kind })
	if recorded || j.state.behind("kubelet") {
		return nil
	}
	_, err := j.ledger.Bracket(ctx, step, networkplugin.NewChange())
	return err
}

// startSwitch starts Open vSwitch, now and at every boot: without it the host
// would have no network after the next one. Where a preset, an alias or another
// unit starts it at boot that stays so.
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

// tellBridge writes what others look for where the uplink is in br-ex, and has
// it seen to at every boot. It tells how many changes that took.
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

// payloadClearsRemote tells whether the payload's own unit clears ovn-remote at
// every boot: it is there and enabled, and where its script does not do it, a
// rule of package ignition adds that. Without a payload, which a step that runs
// alone has not, an earlier join can have enabled the unit.
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

// recordMove keeps for status how the move went that was just made.
func (j *join) recordMove(status ovs.Status) error {
	content, err := j.bridge.Record(status, time.Now()).Encode()
	if err != nil {
		return err
	}
	return keep(j.dir, bridgeFile, content)
}
