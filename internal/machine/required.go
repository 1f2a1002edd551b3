// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

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
