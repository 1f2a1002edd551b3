// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// ReloadUnits makes systemd read the unit files again if one of them has changed since it last did. A reload takes
// longer than the comparison, and a second join would else reload systemd in several steps.
func (m *Machine) ReloadUnits(ctx context.Context) error {
	newest, err := m.Tree.NewestChange(systemd.UnitDirs()...)
	if err != nil {
		return err
	}
	if loaded, err := m.Systemd.UnitsLoaded(); err == nil && isLoaded(newest, loaded, time.Now()) {
		return nil
	}
	return m.Systemd.Reload(ctx) // also if an older systemd does not say when it last did
}

// isLoaded reports whether systemd has read the unit files after their newest change. It has not if the clock was set
// back since then, because the times cannot be compared.
func isLoaded(newest, loaded, now time.Time) bool {
	return newest.Before(loaded) && !loaded.After(now)
}

// RequiredAction returns whether a unit must be started or restarted in order to run with its current
// inputs: those of the table of effects, and more.
func RequiredAction(
	ctx context.Context, manager *systemd.Manager, tree *hostfs.Tree, unit string, more ...string,
) (systemd.Action, error) {
	state, err := manager.UnitState(ctx, unit)
	if err != nil {
		return systemd.NoAction, err
	}
	newest, err := tree.NewestChange(append(effects.Inputs(effects.Restart, unit), more...)...)
	return state.Required(newest), err
}
