package bootstrap

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// turn is how a run came to be the only one that changes this host.
type turn struct {
	waited  bool // for another run, which can have changed the agent's own records
	stopped bool // the service, which was going on with a join
}

// takeTurn opens the running host to change it, once nobody else does. What the
// service goes on with is taken over from it: it can be waiting, for a day,
// for what this run was given. Any other run is waited for.
func takeTurn(ctx context.Context, options Options) (*machine, turn, error) {
	var t turn
	log := report.Log{Sink: options.Sink, Step: "begin"}
	for {
		m, err := openMachine(ctx, options.StateDir, true)
		switch {
		case !errors.Is(err, ledger.ErrLocked):
			return m, t, err
		case !t.waited && !options.Service:
			if t.stopped, err = stopJoiningService(ctx, log); err != nil {
				return nil, t, err
			}
		}
		if !t.waited && !t.stopped {
			log.Wait("for another hcp-node-agent to end, which is changing this host", "hcp-node-agent status # shows how far it is")
		}
		t.waited = true
		if sleep(ctx, time.Second) != nil {
			return nil, t, inWords(ctx, ledger.ErrLocked)
		}
	}
}

// stopJoiningService stops the service while it joins. A service that has
// joined changes nothing and is in nobody's way.
func stopJoiningService(ctx context.Context, log report.Log) (bool, error) {
	systemd, err := host.OpenSystemd(ctx)
	if err != nil {
		return false, nil // without it there is no service
	}
	defer systemd.Close()
	unit, err := systemd.UnitState(ctx, serviceUnit)
	if err != nil || unit.Active != "activating" {
		return false, err
	}
	log.Note("stopping " + serviceUnit + ", which is joining this host; this command takes over")
	return true, systemd.Stop(ctx, serviceUnit)
}
