package ledger

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Sysctls is the driver of sysctls of the running kernel. Target is the name with dots or
// slashes. Values after a reboot come from a sysctl.d file, which is a separate change.
type Sysctls struct{}

// Get reads the sysctl. A sysctl that the kernel does not have is absent.
func (Sysctls) Get(_ context.Context, c Change) (State, error) {
	content, err := os.ReadFile(sysctlPath(c.Target))
	if os.IsNotExist(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("reading sysctl %s: %w", c.Target, err)
	}
	return State{Present: true, Value: foldSpace(string(content))}, nil
}

// Set writes the sysctl.
func (Sysctls) Set(_ context.Context, c Change, _ State) error {
	return writeSysctl(c.Target, c.Desired.Value)
}

// Restore writes the previous value.
func (Sysctls) Restore(_ context.Context, c Change, before State) error {
	if !before.Present {
		return nil
	}
	return writeSysctl(c.Target, before.Value)
}

// ForeignSysctls is the driver of sysctls that other components set. An undo restores the
// previous value. Until then any value is accepted.
type ForeignSysctls struct{ Sysctls }

// External excludes foreign sysctls from drift.
func (ForeignSysctls) External() {}

// Set does nothing: another component sets the value.
func (ForeignSysctls) Set(context.Context, Change, State) error { return nil }

func writeSysctl(name, value string) error {
	if err := os.WriteFile(sysctlPath(name), []byte(value+"\n"), 0); err != nil {
		return fmt.Errorf("setting sysctl %s to %q: %w", name, value, err)
	}
	return nil
}

// sysctlPath returns the file of a sysctl. As in sysctl(8), the first separator found
// decides which of the two forms the name has.
func sysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return path.Join("/proc/sys", path.Clean("/"+name))
}

func foldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// Modules is the driver of kernel modules. An undo leaves modules loaded: unloading can
// crash a host, and a reboot unloads them.
type Modules struct{}

// Get checks whether the module is loaded or built in.
func (Modules) Get(_ context.Context, c Change) (State, error) {
	_, err := os.Stat("/sys/module/" + strings.ReplaceAll(path.Base(c.Target), "-", "_"))
	if err != nil && !os.IsNotExist(err) {
		return State{}, fmt.Errorf("looking for kernel module %s: %w", c.Target, err)
	}
	return State{Present: err == nil}, nil
}

// Set loads the module.
func (Modules) Set(ctx context.Context, c Change, _ State) error {
	_, err := command.Run(ctx, "modprobe", "--", c.Target)
	return err
}

// Restore leaves the module loaded.
func (Modules) Restore(context.Context, Change, State) error { return nil }
