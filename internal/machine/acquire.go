// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Lock describes how a run acquired the lock on the host.
type Lock struct {
	Waited  bool // for another run, which may have changed the agent's records
	Stopped bool // stopped the service, which was joining
}

// Acquire opens the host for changes once no other run holds the lock. It stops
// the service if the service is joining, which may wait up to a day for inputs that
// this run was given. It waits for any other run. If it fails after it has stopped the
// service, it starts the service again.
func Acquire(ctx context.Context, stateDir string, sink report.Sink, service bool) (*Machine, Lock, error) {
	m, result, err := acquire(ctx, stateDir, sink, service)
	if err != nil && result.Stopped {
		StartService(context.WithoutCancel(ctx), sink)
	}
	return m, result, err
}

func acquire(ctx context.Context, stateDir string, sink report.Sink, service bool) (*Machine, Lock, error) {
	var t Lock
	log := report.Log{Sink: sink, Step: "begin"}
	for {
		m, err := Open(ctx, stateDir, true)
		switch {
		case !errors.Is(err, ledger.ErrLocked):
			return m, t, err
		case !t.Waited && !service:
			if t.Stopped, err = stopJoiningService(ctx, log); err != nil {
				return nil, t, err
			}
		}
		if !t.Waited && !t.Stopped {
			log.Wait("waiting for another hcp-node-agent process to finish changing this host",
				"hcp-node-agent status # shows its progress")
		}
		t.Waited = true
		if wait.Sleep(ctx, time.Second) != nil {
			return nil, t, report.ExplainInterruption(ctx, ledger.ErrLocked)
		}
	}
}

// stopJoiningService stops the service while it joins. After the join the service
// only makes repairs, which take minutes and need not be stopped.
func stopJoiningService(ctx context.Context, log report.Log) (bool, error) {
	manager, err := systemd.Open(ctx)
	if err != nil {
		return false, nil // without systemd there is no service
	}
	defer manager.Close()
	unit, err := manager.UnitState(ctx, ServiceUnit)
	if err != nil || unit.Active != "activating" {
		return false, err
	}
	log.Note("stopping " + ServiceUnit + ", which is joining this host, before running this command")
	return true, manager.Stop(ctx, ServiceUnit)
}
