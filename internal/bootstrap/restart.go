// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// updateTrustStore updates the trust store if the payload contains a CA for it, or did so before the
// upgrade.
func updateTrustStore(ctx context.Context, files []ledger.Change, upgrade *joinstate.Upgrade) error {
	if upgrade != nil && slices.ContainsFunc(upgrade.Effects,
		func(e effects.Effect) bool { return hostfs.IsWithin(e.Target, crio.TrustAnchorsDir) }) {
		return machine.UpdateTrustStore(ctx)
	}
	return machine.UpdateTrustStoreIfNeeded(ctx, files)
}

// unitRestarts determines which units must restart because their files have changed, and restarts them.
type unitRestarts struct {
	host        *machine.Machine
	diagnostics node.Host
	files       []ledger.Change    // of the plan
	upgrade     *joinstate.Upgrade // nil in a join
}

// restartUnits restarts the active units that were started before their files changed, and those of which
// an upgrade has changed or removed files. It returns their number. Later steps restart CRI-O and kubelet.
func (r unitRestarts) restartUnits(ctx context.Context, log report.Log) (int, error) {
	n := 0
	for unit, files := range r.unitsWithFiles() {
		state, err := r.host.Systemd.UnitState(ctx, unit)
		if err != nil {
			return n, err
		}
		newest, err := r.host.Tree.NewestChange(files...)
		if err != nil {
			return n, err
		}
		isRequired := r.upgrade.Requires(effects.Restart, unit)
		switch {
		case state.Load != "loaded": // it was removed
			continue
		case state.Active == "failed" && isRequired: // after the change that is rolled back
		case state.Active != "active":
			continue // it starts with its new files
		case !isRequired && state.Required(newest) == systemd.NoAction:
			continue
		}
		log.Wait("waiting for "+unit+" to restart", "")
		if err := r.host.Systemd.Restart(ctx, unit); err != nil {
			return n, r.diagnostics.ExplainStartFailure(ctx, unit, err)
		}
		n++
	}
	if !r.upgrade.Requires(effects.Restart, systemd.NetworkManagerUnit) {
		return n, nil
	}
	return n + 1, restartNetworkManager(ctx, r.host.Systemd, log)
}

// unitsWithFiles returns the units that are restarted if a file of the plan or of the upgrade changes, with
// the files of the plan. A join does not restart NetworkManager, which would interrupt pods that are not
// drained: its configuration takes effect at the next boot.
func (r unitRestarts) unitsWithFiles() map[string][]string {
	units := map[string][]string{}
	if r.upgrade != nil {
		for _, unit := range r.upgrade.Effects.UnitsToRestart() {
			units[unit] = nil
		}
	}
	for _, file := range r.files {
		if effect := kinds.EffectOf(file); effect.Action == effects.Restart {
			units[effect.Unit] = append(units[effect.Unit], file.Target)
		}
	}
	for _, unit := range []string{systemd.KubeletUnit, systemd.CRIOUnit, systemd.NetworkManagerUnit} {
		delete(units, unit)
	}
	return units
}

// restartNetworkManager restarts NetworkManager, which keeps addresses, and waits until it has taken over
// the connections.
func restartNetworkManager(ctx context.Context, manager *systemd.Manager, log report.Log) error {
	log.Wait("waiting for NetworkManager to restart", "")
	if err := manager.Restart(ctx, systemd.NetworkManagerUnit); err != nil {
		return err
	}
	// NetworkManager reports no uplink until it has taken over the connections again.
	_, err := command.Run(ctx, "nm-online", "--wait-for-startup", "--quiet", "--timeout", "60")
	return err
}
