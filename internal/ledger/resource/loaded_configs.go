// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// LoadConfig makes a service load its configuration. The name is that of a loader of the table of effects.
// It returns the command that does the same.
func LoadConfig(ctx context.Context, name string) (string, error) {
	loader, err := findLoader(name)
	if err != nil {
		return "", err
	}
	text := strings.Join(loader.Command, " ")
	if name == "systemd" {
		return text, systemd.Reexecute(ctx)
	}
	_, err = command.Run(ctx, loader.Command[0], loader.Command[1:]...)
	return text, err
}

func findLoader(name string) (effects.Loader, error) {
	loader, found := effects.FindLoader(name)
	if !found {
		return loader, fmt.Errorf("no command loads the configuration of %q", name)
	}
	return loader, nil
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
		Kind: ledger.LoadedConfig, Target: loader, Reason: "its configuration is in the payload",
		Desired: ledger.State{Present: true},
	}
}

// Get returns the digest of the files. Services do not report which configuration they have loaded.
// Data therefore has the time, so that no two states are equal, and an undo always loads the
// configuration.
func (d *LoadedConfigs) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	loader, err := findLoader(c.Target)
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

// NewData returns a pointer to a time.
func (d *LoadedConfigs) NewData() any { return new(time.Time) }

// files returns the regular files at p, sorted.
func (d *LoadedConfigs) files(p string) (files []string, err error) {
	err = d.Tree.WalkWith(p, func(name string, info hostfs.Info) error {
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
	if _, err := LoadConfig(ctx, c.Target); err != nil {
		d.Log.Warn(fmt.Sprintf("%s has not loaded its restored configuration, which takes effect at the next boot: %v",
			c.Target, err), "")
	}
	return ctx.Err()
}

var _ ledger.PartialRestorer = (*LoadedConfigs)(nil)
