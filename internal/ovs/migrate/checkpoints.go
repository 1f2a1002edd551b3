// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// prepareRevert returns the backup with which a rollback starts: with the state of an
// unfinished rollback if found is true, else as a new one. It refuses a new
// rollback while another program has a checkpoint: a rollback to that
// checkpoint would activate br-ex again after its removal.
func prepareRevert(
	backup, unfinished ovs.Backup, found bool, checkpoints []networkmanager.Checkpoint,
) (ovs.Backup, error) {
	if found {
		backup.Checkpoint, backup.Committed = unfinished.Checkpoint, unfinished.Committed
		return backup, nil
	}
	if len(checkpoints) > 0 {
		return backup, ovs.Refuse("# finish the other change (nmstate: nmstatectl commit, or nmstatectl rollback), "+
			"then rerun the command",
			"another program has a NetworkManager checkpoint, and its rollback would restore br-ex; br-ex was not changed")
	}
	backup.Checkpoint, backup.Committed = "", true
	return backup, nil
}

// ownCheckpoints lists the checkpoints of an unfinished migration.
func (d *Driver) ownCheckpoints(ctx context.Context, backup ovs.Backup) ([]networkmanager.Checkpoint, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	checkpoints, err := d.NM.Checkpoints(ctx)
	return chooseCheckpoints(backup, checkpoints, profiles), err
}

// chooseCheckpoints returns the checkpoints of an unfinished migration: the one
// in its pending file, and any that exists while the agent's profiles do,
// because NetworkManager allows only one. After a finished migration a
// checkpoint can be foreign.
func chooseCheckpoints(
	backup ovs.Backup, checkpoints []networkmanager.Checkpoint, profiles []networkmanager.Profile,
) []networkmanager.Checkpoint {
	if !backup.Committed && len(backup.OwnProfiles(profiles)) > 0 {
		return checkpoints
	}
	if slices.Contains(checkpoints, backup.Checkpoint) {
		return []networkmanager.Checkpoint{backup.Checkpoint}
	}
	return nil
}
