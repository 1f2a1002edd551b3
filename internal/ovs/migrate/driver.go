package migrate

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// defaultRollbackTimeout is the time that a move has until NetworkManager gives the
// network back. A move takes two to five seconds, plus the checks after it.
const defaultRollbackTimeout = 90 * time.Second

// Driver is the ledger's driver of br-ex.
type Driver struct {
	NM              *networkmanager.Client // nil: NetworkManager does not run
	Systemd         *host.Systemd
	Tree            *host.Tree    // the running machine
	Dir             string        // of the agent's state, where the journal is
	RollbackTimeout time.Duration // 0: 90 s; how long a killed move lasts until the network comes back

	options    ovs.Options
	log        report.Log
	reach      []Endpoint
	outage     *host.Outage // of the move that was made, when it could be measured
	gatewayErr error        // why the gateway does not answer after a way back; nil: it does
}

var (
	_ ledger.Driver         = (*Driver)(nil)
	_ ledger.CriticalDriver = (*Driver)(nil)
)

// Prepare gives what a move needs beyond the change itself: who to tell, and
// who has to answer afterwards.
func (d *Driver) Prepare(move ovs.Migration, log report.Log, reach []Endpoint) {
	d.options, d.log, d.reach = move.Options, log, reach
}

func (d *Driver) journal() pendingFile { return pendingFile{tree: d.Tree, dir: d.Dir} }

func (d *Driver) rollbackTimeout() time.Duration {
	if d.RollbackTimeout > 0 {
		return d.RollbackTimeout
	}
	return defaultRollbackTimeout
}

// Get tells whether br-ex is there and right. When it is not, Value holds the
// Origin, which is all that Restore needs. A move that was not finished counts
// as absent. A host that cannot have br-ex is no error here: Make refuses it.
func (d *Driver) Get(ctx context.Context, _ ledger.Change) (ledger.State, error) {
	facts, err := ovs.Gather(ctx, d.NM)
	if err != nil {
		return ledger.State{}, err
	}
	_, unfinished, err := d.journal().read()
	if err != nil {
		return ledger.State{}, err
	}
	if unfinished {
		return ledger.State{Type: stateUnfinished}, nil
	}
	return stateOf(facts, d.options)
}

// Set moves the uplink into br-ex. Every failure gives the network back; its
// error then has the code NetworkRolledBack.
func (d *Driver) Set(ctx context.Context, _ ledger.Change, _ ledger.State) error {
	if err := d.Recover(ctx); err != nil {
		return err
	}
	facts, err := ovs.Gather(ctx, d.NM)
	if err != nil {
		return err
	}
	move, err := ovs.Plan(facts, d.options)
	if err != nil {
		return err
	}
	if move.AlreadyThere {
		return nil
	}
	if !facts.OVS.Running {
		return ovs.Refuse("systemctl start openvswitch", "Open vSwitch does not run (ovsdb-server does not answer)")
	}
	if err := openvswitch.SwitchRunning(ctx); err != nil {
		return ovs.Refuse("systemctl restart openvswitch", "Open vSwitch does not run: %w", err)
	}
	return d.move(ctx, move, ovs.HasLeftovers(facts, move.Backup))
}

// Restore gives the NIC back to its original profile.
func (d *Driver) Restore(ctx context.Context, _ ledger.Change, before ledger.State) error {
	if before.Present {
		return nil // it was there before the agent
	}
	if before.Value == "" {
		return d.Recover(ctx)
	}
	origin, err := ovs.DecodeBackup(before.Value)
	if err != nil {
		return err
	}
	if d.NM == nil {
		return report.Fail(report.Failed, "systemctl start NetworkManager", "NetworkManager does not run, so %s cannot be taken out of br-ex", origin.Uplink)
	}
	facts, err := ovs.Gather(ctx, d.NM)
	if err != nil {
		return err
	}
	if origin, err = withCurrentName(origin, facts); err != nil {
		return err
	}
	unfinished, found, err := d.journal().read()
	if err != nil {
		return err
	}
	checkpoints, err := d.NM.Checkpoints(ctx)
	if err != nil {
		return err
	}
	if origin, err = newUndo(origin, unfinished, found, checkpoints); err != nil {
		return err
	}
	return d.restoreUplink(ctx, origin)
}

// IsCritical tells that the host hangs on br-ex: while it is there Open vSwitch must
// not be stopped.
func (d *Driver) IsCritical() bool { return true }

// Recover gives the network back after a move that was not finished: its run
// was killed, or the machine lost its power. Call it before anything else
// looks at the network; without such a move it does nothing.
func (d *Driver) Recover(ctx context.Context) error {
	origin, unfinished, err := d.journal().read()
	if err != nil || !unfinished {
		return err
	}
	if d.NM == nil {
		return report.Fail(report.Failed, "systemctl start NetworkManager",
			"an earlier run was ended while it moved %s into br-ex, and NetworkManager does not run", origin.Uplink)
	}
	d.log.Note("an earlier run was ended while it moved " + origin.Uplink + " into br-ex; giving the network back first")
	return d.restoreUplink(ctx, origin)
}

// arm opens the journal and starts the timer, in place of an older one. It
// fires when what is begun now should be over within the given time and is not.
func (d *Driver) arm(ctx context.Context, origin ovs.Backup, within time.Duration) error {
	if err := d.journal().open(origin); err != nil {
		return err
	}
	if err := d.stopRollbackTimer(ctx); err != nil {
		return err
	}
	return startRollbackTimer(ctx, within+rollbackDelay, d.journal().path(), origin)
}

// disarm makes the present state of the network count and stops the timer.
func (d *Driver) disarm(ctx context.Context) error {
	return errors.Join(d.journal().close(), d.stopRollbackTimer(ctx))
}

// stopRollbackTimer stops the timer, and its program too: it ends with removing the
// journal, which may be another one by then.
func (d *Driver) stopRollbackTimer(ctx context.Context) error {
	for _, unit := range []string{rollbackUnit + ".timer", rollbackUnit + ".service"} {
		state, err := d.Systemd.UnitState(ctx, unit)
		if err != nil {
			return err
		}
		if state.Active != "active" && state.Active != "activating" {
			continue
		}
		if err := d.Systemd.Stop(ctx, unit); err != nil {
			return err
		}
	}
	return nil
}
