// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A Loader is a running service with the command that makes it load its configuration.
type Loader struct {
	Name    string
	Command []string
	Paths   []string // files and directories of the configuration
}

const systemdLoader = "systemd"

// Loaders returns the services whose configuration a payload contains and no other step loads.
func Loaders() []Loader {
	return []Loader{
		{"chronyd", []string{"systemctl", "try-restart", "chronyd.service"}, []string{"/etc/chrony.conf", "/etc/chrony.d"}},
		{"audit rules", []string{"augenrules", "--load"}, []string{"/etc/audit/rules.d"}},
		{systemdLoader, []string{"systemctl", "daemon-reexec"}, []string{"/etc/systemd/system.conf", "/etc/systemd/system.conf.d"}},
	}
}

// FindLoader returns the loader of a name.
func FindLoader(name string) (Loader, error) {
	for _, loader := range Loaders() {
		if loader.Name == name {
			return loader, nil
		}
	}
	return Loader{}, fmt.Errorf("no command loads the configuration of %q", name)
}

// Run makes the service load its configuration.
func (l Loader) Run(ctx context.Context) error {
	if l.Name == systemdLoader {
		return systemd.Reexecute(ctx)
	}
	_, err := command.Run(ctx, l.Command[0], l.Command[1:]...)
	return err
}

// LoadedConfigs is a snapshot of the configurations that services have loaded. It must be recorded
// before the files of the configuration: an undo then loads the configuration after it has restored
// the files.
type LoadedConfigs struct {
	Tree *hostfs.Tree

	Log report.Log // reports services that could not load their configuration in an undo
}

// LoadedChange returns the change that tracks the configuration of a loader.
func LoadedChange(loader string) ledger.Change {
	return ledger.Change{
		Kind: ledger.LoadedConfig, Target: loader, Reason: "its configuration is in the payload", Desired: ledger.State{Present: true},
	}
}

// Get returns the digest of the files. Services do not report which configuration they have loaded.
// Data therefore has the time, so that no two states are equal, and an undo always loads the
// configuration.
func (d *LoadedConfigs) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	loader, err := FindLoader(c.Target)
	if err != nil {
		return ledger.State{}, err
	}
	sum := sha256.New()
	for _, p := range loader.Paths {
		files, err := d.files(p)
		if err != nil {
			return ledger.State{}, err
		}
		for _, file := range files {
			content, _, err := d.Tree.ReadFile(file)
			if err != nil {
				return ledger.State{}, err
			}
			fmt.Fprintf(sum, "%s %d\n%s", file, len(content), content)
		}
	}
	now, err := json.Marshal(time.Now().UTC())
	return ledger.State{Present: true, Value: fmt.Sprintf("sha256 %x", sum.Sum(nil)), Data: now}, err
}

// files returns the regular files at p, sorted.
func (d *LoadedConfigs) files(p string) ([]string, error) {
	info, err := d.Tree.Lstat(p)
	if err != nil {
		return nil, err
	}
	if info.Type == hostfs.Regular {
		return []string{p}, nil
	}
	if info.Type != hostfs.Directory {
		return nil, nil
	}
	var files []string
	err = d.Tree.Walk(p, func(name string, info hostfs.Info) error {
		if info.Type == hostfs.Regular {
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// IsLoaded reports whether the service has loaded the current configuration in an earlier run.
func (d *LoadedConfigs) IsLoaded(ctx context.Context, loader string, items []ledger.Item) (bool, error) {
	change := LoadedChange(loader)
	for _, item := range items {
		if item.Key() == change.Key() && item.Done {
			now, err := d.Get(ctx, change)
			return item.Desired.Value == now.Value, err
		}
	}
	return false, nil
}

// IsPartiallyRestored returns true, so that an undo never reports the configuration as changed by
// others.
func (*LoadedConfigs) IsPartiallyRestored(ledger.Change, ledger.State, ledger.State) (bool, error) {
	return true, nil
}

// Restore loads the restored configuration. A service that cannot load it does so at the next boot.
func (d *LoadedConfigs) Restore(ctx context.Context, c ledger.Change, _ ledger.State) error {
	loader, err := FindLoader(c.Target)
	if err != nil {
		return err
	}
	if err := loader.Run(ctx); err != nil {
		d.Log.Warn(fmt.Sprintf("%s has not loaded its restored configuration, which takes effect at the next boot: %v", loader.Name, err), "")
	}
	return ctx.Err()
}

var _ ledger.PartialRestorer = (*LoadedConfigs)(nil)
