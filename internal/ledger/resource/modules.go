// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Modules is the driver of kernel modules. An undo leaves modules loaded: unloading can
// crash a host, and a reboot unloads them.
type Modules struct{ ledger.Irreversible }

// Get checks whether the module is loaded or built in.
func (Modules) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	_, err := os.Stat("/sys/module/" + strings.ReplaceAll(path.Base(c.Target), "-", "_"))
	if err != nil && !os.IsNotExist(err) {
		return ledger.State{}, fmt.Errorf("checking for kernel module %s: %w", c.Target, err)
	}
	return ledger.State{Present: err == nil}, nil
}

// Set loads the module.
func (Modules) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	_, err := command.Run(ctx, "modprobe", "--", c.Target)
	return err
}
