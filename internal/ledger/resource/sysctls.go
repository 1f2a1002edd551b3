// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Sysctls is the driver of sysctls of the running kernel. Target is the name with dots or
// slashes. Values after a reboot come from a sysctl.d file, which is a separate change.
type Sysctls struct{}

// Get reads the sysctl. A sysctl that the kernel does not have is absent. One that can only be written, which starts an
// action of the kernel at each boot, is as desired.
func (Sysctls) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	content, err := os.ReadFile(sysctlPath(c.Target))
	if os.IsNotExist(err) {
		return ledger.State{}, nil
	}
	if os.IsPermission(err) {
		return c.Desired, nil
	}
	if err != nil {
		return ledger.State{}, fmt.Errorf("reading sysctl %s: %w", c.Target, err)
	}
	state := ledger.State{Present: true, Value: strings.Join(strings.Fields(string(content)), " ")}
	if isSameValue(state.Value, c.Desired.Value) {
		state.Value = c.Desired.Value // which the kernel prints in another form
	}
	if other := alternatives[strings.TrimPrefix(sysctlPath(c.Target), "/proc/sys/")]; other != "" && state.Value == "0" {
		if content, err := os.ReadFile(sysctlPath(other)); err == nil {
			state.Names = []string{other + "=" + strings.TrimSpace(string(content))}
		}
	}
	return state, nil
}

// alternatives contains the other member of pairs of which one is in use. The kernel prints 0 for the one that is not,
// and refuses to have the 0 written.
var alternatives = map[string]string{
	"vm/dirty_bytes": "vm/dirty_ratio", "vm/dirty_ratio": "vm/dirty_bytes",
	"vm/dirty_background_bytes": "vm/dirty_background_ratio", "vm/dirty_background_ratio": "vm/dirty_background_bytes",
	"vm/overcommit_kbytes": "vm/overcommit_ratio", "vm/overcommit_ratio": "vm/overcommit_kbytes",
}

// isSameValue reports whether two values consist of the same numbers, such as 65536 and 0x10000.
func isSameValue(have, want string) bool {
	left, right := strings.Fields(have), strings.Fields(want)
	return len(left) > 0 && slices.EqualFunc(left, right, func(a, b string) bool {
		x, errX := strconv.ParseInt(a, 0, 64)
		y, errY := strconv.ParseInt(b, 0, 64)
		return a == b || errX == nil && errY == nil && x == y
	})
}

// Set writes the sysctl.
func (Sysctls) Set(_ context.Context, c ledger.Change, _ ledger.State) error {
	return writeSysctl(c.Target, c.Desired.Value)
}

// Restore writes the previous value. A value that the running kernel does not accept is no error: it has the former
// value from the next boot, and Unrestored returns a message.
func (Sysctls) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	if !before.Present {
		return nil
	}
	for _, other := range before.Names {
		name, value, _ := strings.Cut(other, "=")
		if writeSysctl(name, value) == nil {
			return nil
		}
	}
	_ = writeSysctl(c.Target, before.Value)
	return nil
}

// Unrestored returns the sysctls of restored items that do not have their former values, as NAME=VALUE.
func (s Sysctls) Unrestored(ctx context.Context, items []ledger.Item) ([]string, error) {
	var left []string
	for _, item := range items {
		if item.Kind != ledger.Sysctl || !item.Before.Present {
			continue
		}
		now, err := s.Get(ctx, ledger.Change{Target: item.Target, Desired: item.Before})
		if err != nil {
			return nil, err
		}
		if now.Present && now.Value != item.Before.Value {
			left = append(left, item.Target+"="+now.Value)
		}
	}
	return left, nil
}

func writeSysctl(name, value string) error {
	return wrap.Errorf(os.WriteFile(sysctlPath(name), []byte(value+"\n"), 0), "setting sysctl %s to %q", name, value)
}

// sysctlPath returns the file of a sysctl.
func sysctlPath(name string) string {
	return path.Join("/proc/sys", path.Clean("/"+hostinfo.SysctlPath(name)))
}
