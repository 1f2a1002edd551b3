// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// configureSystem applies kernel modules and sysctls, updates the trust store, and
// enables and starts units. If requested, it also applies the settings of the host.
func configureSystem(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	kernel, err := applyKernelSettings(ctx, j.Host.Ledger, slices.Concat(j.Plan.Modules, j.Plan.Sysctls), log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := j.Host.ReloadUnits(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := updateTrustStore(ctx, j.Plan.Files, j.Run.State.Upgrade); err != nil {
		return steps.Outcome{}, err
	}
	boot := j.bootSettings()
	if err := boot.recordNewUnits(ctx); err != nil {
		return steps.Outcome{}, err
	}
	units, err := j.Host.Ledger.Apply(ctx, steps.System, j.Plan.Units)
	if err != nil {
		return steps.Outcome{}, err
	}
	if err := boot.bootUnits(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	settings, err := setHostSettings(ctx, j.Host.Ledger, j.Plan.HostSettings, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	loaded, err := loadConfigs(ctx, j.Host, j.Plan.LoadedConfigs, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	restarts := unitRestarts{
		host:        j.Host,
		diagnostics: j.diagnostics(),
		files:       j.Plan.Files,
		upgrade:     j.Run.State.Upgrade,
	}
	restarted, err := restarts.restartUnits(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	summary := fmt.Sprintf("sysctls: %d, kernel modules: %d, units: %d", len(j.Plan.Sysctls), len(j.Plan.Modules),
		len(j.Plan.Units))
	if len(kernel)+len(units)+len(settings)+loaded+restarted == 0 {
		return steps.Unchanged("%s (unchanged)", summary)
	}
	return steps.Changed("%s", summary)
}

// requiredSysctls are those without whose values kubelet does not start with protectKernelDefaults
// (pkg/kubelet/cm/container_manager_linux.go).
var requiredSysctls = []string{
	"vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops", "kernel.keys.root_maxkeys",
	"kernel.keys.root_maxbytes",
}

// applyKernelSettings loads modules and sets sysctls. As systemd-sysctl and systemd-modules-load do at boot, it warns
// about what the kernel refuses, and continues.
func applyKernelSettings(
	ctx context.Context, l *ledger.Ledger, settings []ledger.Change, log report.Log,
) ([]ledger.PlannedChange, error) {
	made, err := l.Apply(ctx, steps.System, settings)
	if err == nil {
		return made, acceptSysctls(ctx, l, made, log)
	}
	for _, change := range settings {
		one, err := l.Apply(ctx, steps.System, []ledger.Change{change})
		switch {
		case err == nil:
			made = append(made, one...)
		case ctx.Err() != nil, slices.Contains(requiredSysctls, strings.ReplaceAll(change.Target, "/", ".")):
			return nil, err
		default:
			log.Warn(fmt.Sprintf("%v (in %s); the join continues, as a boot would", err, change.Reason), "")
			// A setting that the kernel does not have is neither drift nor to be restored.
			isRefused := func(item ledger.Item) bool { return item.Key() == change.Key() }
			if _, err := l.Revert(ctx, isRefused); err != nil {
				return nil, err
			}
		}
	}
	return made, acceptSysctls(ctx, l, made, log)
}

// acceptSysctls records the values that the kernel has made of others: it limits some, and ignores what follows a
// number.
func acceptSysctls(ctx context.Context, l *ledger.Ledger, made []ledger.PlannedChange, log report.Log) error {
	for _, change := range made {
		if change.Kind != ledger.Sysctl {
			continue
		}
		value, err := l.AcceptSysctl(ctx, steps.System, change.Change)
		if err != nil {
			return err
		}
		if value != "" {
			log.Note(fmt.Sprintf("sysctl %s has the value %s; requested: %s (in %s)", change.Target, value,
				change.Desired.Value, change.Reason))
		}
	}
	return nil
}

// setHostSettings reverts settings of an earlier plan that these do not contain, and makes the settings. It returns the
// changes.
func setHostSettings(
	ctx context.Context, l *ledger.Ledger, settings []ledger.Change, log report.Log,
) ([]ledger.PlannedChange, error) {
	setsMore := func(item ledger.Item) bool { return plan.SetsMore(item, settings) }
	if _, err := l.RevertAndWarn(ctx, log, setsMore); err != nil {
		return nil, err
	}
	return l.Apply(ctx, steps.System, settings)
}
