// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Modules is the driver of kernel modules. An undo leaves modules loaded: unloading can
// crash a host, and a reboot unloads them.
type Modules struct{ ledger.Irreversible }

// Get checks whether the module is loaded or built in.
func (Modules) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	return ledger.State{Present: hostinfo.IsModuleLoaded(ctx, path.Base(c.Target))}, nil
}

// Set loads the module.
func (Modules) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	_, err := command.Run(ctx, "modprobe", "--", c.Target)
	return err
}
