// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	revertTimeout         = 90 * time.Second // for a complete rollback
	staticFallbackTimeout = 3 * time.Second  // for the DHCP server, until the address is set statically
	leaseTimeout          = 20 * time.Second // for the DHCP server, until it is considered unreachable
	fullRestoreTimeout    = 15 * time.Second // for the complete previous state, until a usable address is sufficient
)

// rollBack reverts a failed migration. It also works after Ctrl-C.
func (d *Driver) rollBack(ctx context.Context, m ovs.Migration, cause error) error {
	d.Log.Note(fmt.Sprintf("attaching %s to br-ex failed (%v); rolling back the network change", m.Uplink, cause))
	ctx = context.WithoutCancel(ctx)
	if err := d.armRollback(ctx, m.Backup, revertTimeout); err != nil { // restarts the timeout
		d.Log.Note(err.Error())
	}
	if err := d.revert(ctx, m.Backup); err != nil {
		return report.Fail(report.NetworkRolledBack,
			"journalctl -u NetworkManager -u ovs-vswitchd -b # also check the host's console",
			"attaching %s to br-ex failed: %w; the rollback also failed: %v; "+
				"a timer (%s) retries the rollback within two minutes",
			m.Uplink, cause, err, rollbackUnit)
	}
	gateway := "its gateway responds"
	if d.gatewayErr != nil {
		gateway = "its gateway is still unreachable"
	}
	remedy := cmp.Or(report.RemedyOf(cause), "journalctl -u NetworkManager -b")
	return report.Fail(report.NetworkRolledBack, remedy+" # then rerun the command",
		"attaching %s to br-ex failed: %w; the network was rolled back: %s uses its profile %s again and %s",
		m.Uplink, cause, m.Uplink, m.Backup.ID, gateway)
}

// restoreUplink reverts a finished migration, or resumes a rollback that
// another run has started. The safeguards complete it if this run is
// terminated. A canceled ctx has an effect only before the start: a partial
// rollback would leave the host to the timer, and revertTimeout bounds a
// complete one.
func (d *Driver) restoreUplink(ctx context.Context, backup ovs.Backup) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := d.armRollback(ctx, backup, revertTimeout); err != nil {
		return err
	}
	return d.revert(ctx, backup)
}

// revert restores the original profile of the NIC from any intermediate state,
// verifies the result, and ends the unfinished migration. It can be repeated.
// NetworkManager's checkpoint is only the fallback: its rollback requests a new
// lease, and without a response the address is lost.
func (d *Driver) revert(ctx context.Context, backup ovs.Backup) error {
	ctx, cancel := context.WithTimeout(ctx, revertTimeout)
	defer cancel()
	if err := d.ensureDaemonsRunning(ctx, backup.Uplink); err != nil {
		return err
	}
	d.Log.Wait("waiting for NetworkManager to activate the original profile on "+backup.Uplink, "")
	checkpoints, err := d.ownCheckpoints(ctx, backup)
	if err != nil {
		return err
	}
	for _, checkpoint := range checkpoints {
		if err := d.NM.ExtendCheckpoint(ctx, checkpoint, revertTimeout); err != nil {
			d.Log.Note(err.Error()) // its timeout has just expired; the rollback is the same
		}
	}
	if err := d.restoreProfile(ctx, backup); err != nil {
		if len(checkpoints) == 0 {
			return err
		}
		d.Log.Note(err.Error() + "; rolling back to NetworkManager's checkpoint")
		for _, checkpoint := range checkpoints {
			err = errors.Join(err, d.NM.RollbackCheckpoint(ctx, checkpoint))
		}
		if again := d.restoreProfile(ctx, backup); again != nil {
			return errors.Join(err, again)
		}
		return d.disarmRollback(ctx)
	}
	for _, checkpoint := range checkpoints {
		if err := d.NM.DestroyCheckpoint(ctx, checkpoint); err != nil {
			d.Log.Note(err.Error())
		}
	}
	return d.disarmRollback(ctx)
}
