package bootstrap

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// lockResult describes how a run acquired the lock on the host.
type lockResult struct {
	waited  bool // for another run, which may have changed the agent's records
	stopped bool // stopped the service, which was joining
}

// acquireLock opens the host for changes once no other run holds the lock. It stops
// the service if the service is joining, which may wait up to a day for inputs that
// this run was given. It waits for any other run.
func acquireLock(ctx context.Context, options Options) (*localHost, lockResult, error) {
	var t lockResult
	log := report.Log{Sink: options.Sink, Step: "begin"}
	for {
		m, err := openLocalHost(ctx, options.StateDir, true)
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
			return nil, t, explainInterruption(ctx, ledger.ErrLocked)
		}
	}
}

// stopJoiningService stops the service while it joins. After the join the service
// changes nothing, so it need not be stopped.
func stopJoiningService(ctx context.Context, log report.Log) (bool, error) {
	systemd, err := systemd.Open(ctx)
	if err != nil {
		return false, nil // without systemd there is no service
	}
	defer systemd.Close()
	unit, err := systemd.UnitState(ctx, serviceUnit)
	if err != nil || unit.Active != "activating" {
		return false, err
	}
	log.Note("stopping " + serviceUnit + ", which is joining this host; this command takes over")
	return true, systemd.Stop(ctx, serviceUnit)
}
