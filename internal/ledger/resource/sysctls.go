// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Sysctls is the driver of sysctls of the running kernel. Target is the name with dots or
// slashes. Values after a reboot come from a sysctl.d file, which is a separate change.
type Sysctls struct{}

// Get reads the sysctl. A sysctl that the kernel does not have is absent.
func (Sysctls) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	content, err := os.ReadFile(sysctlPath(c.Target))
	if os.IsNotExist(err) {
		return ledger.State{}, nil
	}
	if err != nil {
		return ledger.State{}, fmt.Errorf("reading sysctl %s: %w", c.Target, err)
	}
	return ledger.State{Present: true, Value: strings.Join(strings.Fields(string(content)), " ")}, nil
}

// Set writes the sysctl.
func (Sysctls) Set(_ context.Context, c ledger.Change, _ ledger.State) error {
	return writeSysctl(c.Target, c.Desired.Value)
}

// Restore writes the previous value.
func (Sysctls) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	if !before.Present {
		return nil
	}
	return writeSysctl(c.Target, before.Value)
}

func writeSysctl(name, value string) error {
	return wrap.Errorf(os.WriteFile(sysctlPath(name), []byte(value+"\n"), 0), "setting sysctl %s to %q", name, value)
}

// sysctlPath returns the file of a sysctl. As in sysctl(8), the first separator found
// decides which of the two forms the name has.
func sysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return path.Join("/proc/sys", path.Clean("/"+name))
}
