// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// trackConfigs records that services have loaded the current configuration, before the files step
// changes it: an undo then loads the configuration after it has restored the files.
func trackConfigs(ctx context.Context, l *ledger.Ledger, names []string) error {
	items := l.Items()
	for _, name := range names {
		change := resource.LoadedChange(name)
		if slices.ContainsFunc(items, func(item ledger.Item) bool { return item.Key() == change.Key() }) {
			continue
		}
		if _, err := l.TrackExternal(ctx, steps.Files, change); err != nil {
			return err
		}
	}
	return nil
}

// loadConfigs makes services load the configuration that the files step has written, unless an earlier
// run has done so. It returns the number of services. A failure is a warning, because the
// configuration takes effect at the next boot.
func loadConfigs(ctx context.Context, host *machine.Machine, names []string, log report.Log) (int, error) {
	n, items := 0, host.Ledger.Items()
	for _, name := range names {
		loaded, err := host.LoadedConfigs.IsLoaded(ctx, name, items)
		if err != nil {
			return n, err
		}
		if loaded {
			continue
		}
		done, err := host.Ledger.TrackExternal(ctx, steps.System, resource.LoadedChange(name))
		if err != nil {
			return n, err
		}
		if command, err := resource.LoadConfig(ctx, name); err != nil {
			log.Warn(fmt.Sprintf("%s has not loaded its new configuration, which takes effect at the next boot: %v", name, err),
				report.Remedy(command))
			continue
		}
		if err := done(); err != nil {
			return n, err
		}
		log.Changed(string(ledger.LoadedConfig), name)
		n++
	}
	return n, nil
}
