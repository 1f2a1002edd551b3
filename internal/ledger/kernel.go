package ledger

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Sysctls is the driver of the running kernel's parameters; Target is the name
// with dots or slashes. What they are after a reboot is a file's business.
type Sysctls struct{}

// Look reads the parameter; one that this kernel does not have is absent.
func (Sysctls) Look(_ context.Context, c Change) (State, error) {
	content, err := os.ReadFile(sysctlPath(c.Target))
	if os.IsNotExist(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading sysctl %s: %w", c.Target, err)
	}
	return State{Present: true, Value: foldSpace(string(content))}, nil
}

// Make writes the parameter.
func (Sysctls) Make(_ context.Context, c Change, _ State) error {
	return writeSysctl(c.Target, c.Want.Value)
}

// Restore writes what was there before.
func (Sysctls) Restore(_ context.Context, c Change, before State) error {
	if !before.Present {
		return nil
	}
	return writeSysctl(c.Target, before.Value)
}

// ForeignSysctls is the driver of sysctls that other programs set. An undo
// restores the value that they had before; until then any value is right.
type ForeignSysctls struct{ Sysctls }

// Bracketed excludes them from drift.
func (ForeignSysctls) Bracketed() {}

// Make writes nothing: the other program does.
func (ForeignSysctls) Make(context.Context, Change, State) error { return nil }

func writeSysctl(name, value string) error {
	if err := os.WriteFile(sysctlPath(name), []byte(value+"\n"), 0); err != nil {
		return fmt.Errorf("setting sysctl %s to %q: %w", name, value, err)
	}
	return nil
}

// sysctlPath maps a name to its file as sysctl(8) does: the first separator
// found decides which of the two forms the name has.
func sysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return path.Join("/proc/sys", path.Clean("/"+name))
}

func foldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// Modules is the driver of kernel modules. A module that was loaded stays
// loaded after an undo: unloading can take a machine down, and a reboot does it.
type Modules struct{}

// Look tells whether the module is loaded or built in.
func (Modules) Look(_ context.Context, c Change) (State, error) {
	_, err := os.Stat("/sys/module/" + strings.ReplaceAll(path.Base(c.Target), "-", "_"))
	if err != nil && !os.IsNotExist(err) {
		return State{}, fmt.Errorf("looking for kernel module %s: %w", c.Target, err)
	}
	return State{Present: err == nil}, nil
}

// Make loads the module.
func (Modules) Make(ctx context.Context, c Change, _ State) error {
	_, err := host.Run(ctx, "modprobe", "--", c.Target)
	return err
}

// Restore leaves the module loaded.
func (Modules) Restore(context.Context, Change, State) error { return nil }
