package ovs

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// beginLeaving decides how a way back to an origin begins: with what the journal
// tells of an unfinished one, else anew, and then not while another program has a
// checkpoint. Going back to it NetworkManager would bring br-ex up again, after
// it was taken away.
func beginLeaving(o, unfinished Origin, found bool, checkpoints []networkmanager.Checkpoint) (Origin, error) {
	if found {
		o.Checkpoint, o.Leaving = unfinished.Checkpoint, unfinished.Leaving
		return o, nil
	}
	if len(checkpoints) > 0 {
		return o, refuse("# run the same command again when the other program is done; nmstate: nmstatectl commit, or nmstatectl rollback",
			"another program is changing the network through NetworkManager, and can take its change back, and br-ex with it; br-ex was left as it is")
	}
	o.Checkpoint, o.Leaving = "", true
	return o, nil
}

// ownCheckpoints lists the checkpoints of an unfinished move.
func (d *Driver) ownCheckpoints(ctx context.Context, o Origin) ([]networkmanager.Checkpoint, error) {
	profiles, err := d.NM.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	checkpoints, err := d.NM.Checkpoints(ctx)
	return o.own(checkpoints, profiles), err
}

// own picks the checkpoints of an unfinished move: the one that the journal
// names, and any that is there while our profiles are, as NetworkManager takes
// none beside another. Beside a finished br-ex anybody's can be there.
func (o Origin) own(checkpoints []networkmanager.Checkpoint, profiles []networkmanager.Profile) []networkmanager.Checkpoint {
	if !o.Leaving && len(o.ours(profiles)) > 0 {
		return checkpoints
	}
	return slices.DeleteFunc(slices.Clone(checkpoints), func(c networkmanager.Checkpoint) bool { return c != o.Checkpoint })
}
