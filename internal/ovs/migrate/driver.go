// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// defaultRollbackTimeout is the time after which NetworkManager rolls a
// migration back. A migration takes two to five seconds, plus the checks after
// it.
const defaultRollbackTimeout = 90 * time.Second

// Driver is the ledger's driver of br-ex.
type Driver struct {
	NM              *networkmanager.Client // nil: NetworkManager is not running
	Systemd         *systemd.Manager
	Tree            *hostfs.Tree  // the file system of the host
	Dir             string        // of the agent's state; contains the pending file
	RollbackTimeout time.Duration // time until the network of a killed migration is restored; 0: 90 s
	Log             report.Log
	Request         *Request // the planned migration while the ledger applies its change, else nil

	outage     *hostnet.Outage // of the finished migration, if measurable
	gatewayErr error           // why the gateway does not respond after a rollback; nil: it responds
}

// Kind is the ledger's kind of the change that attaches the uplink to br-ex.
const Kind = ledger.Kind("bridge")

// Request is a planned migration: the current facts from which it was planned, and the endpoints that must
// be reachable before and after it.
type Request struct {
	Migration ovs.Migration
	Endpoints []Endpoint
	Facts     ovs.Facts
}

// Change returns the change that attaches the uplink to br-ex.
func (r Request) Change() ledger.Change {
	return ledger.Change{
		Kind:    Kind,
		Target:  ovs.BridgeName,
		Reason:  "OVN-Kubernetes requires the uplink " + r.Migration.Uplink + " in br-ex",
		Desired: ledger.State{Present: true},
	}
}

var (
	_ ledger.Driver          = (*Driver)(nil)
	_ ledger.CriticalDriver  = (*Driver)(nil)
	_ ledger.PartialRestorer = (*Driver)(nil)
	_ ledger.DataDriver      = (*Driver)(nil)
)

func (d *Driver) pending() pendingFile { return pendingFile{tree: d.Tree, dir: d.Dir} }

func (d *Driver) rollbackTimeout() time.Duration {
	return cmp.Or(d.RollbackTimeout, defaultRollbackTimeout)
}

// NewData returns a pointer to the data of a state of br-ex.
func (d *Driver) NewData() any { return new(bridgeData) }

// Get returns the state of br-ex. If br-ex does not exist, Data contains the
// Backup that Restore needs. An unfinished migration counts as absent. A host
// that does not meet the requirements of br-ex is not an error here: Set
// refuses it.
func (d *Driver) Get(ctx context.Context, _ ledger.Change) (ledger.State, error) {
	_, unfinished, err := d.pending().read()
	if err != nil {
		return ledger.State{}, err
	}
	if unfinished {
		return bridgeData{Unfinished: true}.state(false)
	}
	if d.Request != nil {
		return stateOf(d.Request.Facts, d.Request.Migration, nil)
	}
	facts, err := ovs.Gather(ctx, d.NM.Reader())
	if err != nil {
		return ledger.State{}, err
	}
	planned, err := ovs.Plan(facts, ovs.Options{})
	return stateOf(facts, planned, err)
}

// Set attaches the uplink to br-ex by the Request, and removes it from the driver, because its facts
// are then outdated. Call Recover before the migration is planned. Every failure restores the network;
// its error then has the code NetworkRolledBack.
func (d *Driver) Set(ctx context.Context, _ ledger.Change, _ ledger.State) error {
	request := d.Request
	d.Request = nil
	if request == nil {
		return errors.New("attaching the uplink to br-ex: no migration was planned")
	}
	if request.Migration.AlreadyAttached {
		return nil
	}
	// Not Facts.OVS: Open vSwitch may have stopped since it was read.
	if _, err := openvswitch.ConfigGeneration(ctx); err != nil {
		return ovs.Refuse("systemctl start openvswitch", "Open vSwitch is not running (ovsdb-server does not respond)")
	}
	if err := openvswitch.CheckRunning(ctx); err != nil {
		return ovs.Refuse("systemctl restart openvswitch", "Open vSwitch is not running: %w", err)
	}
	return d.migrate(ctx, *request)
}

// Restore restores the original profile of the NIC.
func (d *Driver) Restore(ctx context.Context, _ ledger.Change, before ledger.State) error {
	if before.Present {
		return nil // it existed before the join
	}
	data, err := decodeData(before)
	if err != nil {
		return err
	}
	if data.Backup == nil {
		return d.Recover(ctx)
	}
	backup := *data.Backup
	if d.NM == nil {
		return report.Fail(report.Failed, "systemctl start NetworkManager",
			"cannot detach %s from br-ex: NetworkManager is not running", backup.Uplink)
	}
	facts, err := ovs.Gather(ctx, d.NM.Reader())
	if err != nil {
		return err
	}
	if backup, err = withCurrentName(backup, facts); err != nil {
		return err
	}
	unfinished, found, err := d.pending().read()
	if err != nil {
		return err
	}
	checkpoints, err := d.NM.Checkpoints(ctx)
	if err != nil {
		return err
	}
	if backup, err = prepareRevert(backup, unfinished, found, checkpoints); err != nil {
		return err
	}
	return d.restoreUplink(ctx, backup)
}

// IsCritical reports that the host's network depends on br-ex: Open vSwitch must not
// be stopped while it exists.
func (d *Driver) IsCritical() bool { return true }

// Recover restores the network after an unfinished migration, whose run was
// killed or interrupted by a power loss. Call it before anything else reads the
// state of the network. Without an unfinished migration it does nothing.
func (d *Driver) Recover(ctx context.Context) error {
	backup, unfinished, err := d.pending().read()
	if err != nil || !unfinished {
		return err
	}
	if d.NM == nil {
		return report.Fail(report.Failed, "systemctl start NetworkManager",
			"cannot roll back the incomplete network change of an earlier run (uplink %s): NetworkManager is not running",
			backup.Uplink)
	}
	d.Log.Note("found an incomplete network change of an earlier run (uplink " + backup.Uplink + "); rolling it back " +
		"first")
	return d.restoreUplink(ctx, backup)
}

// armRollback writes the pending file and starts the rollback timer in place of an
// older one. The timer expires if the operation that starts now is not finished
// within the given time.
func (d *Driver) armRollback(ctx context.Context, backup ovs.Backup, within time.Duration) error {
	if err := d.pending().write(backup); err != nil {
		return err
	}
	if err := d.stopRollbackTimer(ctx); err != nil {
		return err
	}
	return startRollbackTimer(ctx, within+rollbackDelay, d.pending().path(), backup)
}

// disarmRollback makes the current state of the network final and stops the timer.
func (d *Driver) disarmRollback(ctx context.Context) error {
	return errors.Join(d.pending().remove(), d.stopRollbackTimer(ctx))
}

// stopRollbackTimer stops the timer and its script. The script's last command
// removes the pending file, which could be a newer one by then.
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
