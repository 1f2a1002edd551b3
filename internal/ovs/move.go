package ovs

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// move makes the move, checks it and keeps it, or gives the network back.
func (d *Driver) move(ctx context.Context, m Move, leftover bool) error {
	if err := d.reachable(ctx, d.reach); err != nil {
		return report.Fail(report.Refused, report.RemedyOf(err), "%w, already before the network is changed; nothing was changed", err)
	}
	if err := d.arm(ctx, m.Origin); err != nil {
		return err
	}
	checkpoint, err := d.NM.CreateCheckpoint(ctx, d.deadMan())
	if err != nil {
		return errors.Join(report.Fail(report.Refused, "run the same command again when the other program is done",
			"another program is changing the network through NetworkManager: %w; nothing was changed", err), d.disarm(ctx))
	}
	// The whole of it has to be over before NetworkManager goes back by itself.
	limited, cancel := context.WithTimeout(ctx, d.deadMan()*3/4)
	defer cancel()
	gap := measureGap(limited, m.Gateway)
	err = d.attempt(limited, m, leftover, checkpoint)
	d.gap = gap()
	if err != nil {
		return d.giveBack(ctx, m, err)
	}
	return nil
}

// attempt is the move itself, up to and including what makes it count.
func (d *Driver) attempt(ctx context.Context, m Move, leftover bool, checkpoint networkmanager.Checkpoint) error {
	d.log.Wait("for NetworkManager to put "+m.Uplink+" into br-ex", "")
	if leftover {
		if err := d.clear(ctx, m.Origin); err != nil {
			return err
		}
	}
	a, err := d.addProfiles(ctx, m)
	if err != nil {
		return err
	}
	if err := a.connectDatabase(ctx); err != nil {
		return err
	}
	if err := a.bringUpCopy(ctx); err != nil {
		return err
	}
	if err := a.handOver(ctx); err != nil {
		return err
	}
	if err := a.lease(ctx); err != nil {
		return err
	}
	if err := d.verify(ctx, m); err != nil {
		return err
	}
	return a.keep(ctx, checkpoint)
}
