// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// rebootAction is the reaction of a join to kernel arguments with which the host was not booted.
type rebootAction string

const (
	noReboot     rebootAction = "none"    // not needed
	warnOfReboot rebootAction = "warn"    // the join continues; the administrator drains and reboots the node
	awaitReboot  rebootAction = "await"   // the join stops; the administrator reboots the host
	rebootNow    rebootAction = "reboot"  // the agent reboots the host
	rebootInVain rebootAction = "in vain" // a reboot has not changed the kernel arguments
	warnOfOthers rebootAction = "others"  // the join continues; the boot loader adds other values behind the arguments
)

// rebootFacts is the input of decideReboot.
type rebootFacts struct {
	needed     bool   // the host was booted with other kernel arguments than those of the payload
	registered bool   // the Node has been Ready, and can have pods
	mode       string // the setting hostSettings
	boot       string // ID of the current boot
	neededIn   string // ID of the boot in which an earlier run has set the same arguments; "" for none
	booted     bool   // the host was booted with the arguments, and others behind them
}

// decideReboot returns the reaction. It never reboots a node that can have pods, and never reboots twice
// for the same arguments.
func decideReboot(f rebootFacts) rebootAction {
	switch {
	case !f.needed:
		return noReboot
	case f.neededIn != "" && f.neededIn != f.boot && f.booted:
		return warnOfOthers
	case f.registered:
		return warnOfReboot
	case f.neededIn != "" && f.neededIn != f.boot:
		return rebootInVain
	case f.mode == config.HostSettingsReboot:
		return rebootNow
	}
	return awaitReboot
}

// setKernelArguments sets the kernel arguments of the next boot. It fails, or reboots, if the host was
// booted with different ones. It returns the changes.
func (j *Flow) setKernelArguments(ctx context.Context, log report.Log) ([]ledger.PlannedChange, error) {
	if !j.Run.Config.AppliesHostSettings() {
		return nil, nil
	}
	reverted, err := j.revertKernelArguments(ctx, log)
	if err != nil {
		return nil, err
	}
	made, err := j.Host.Ledger.Apply(ctx, steps.Files, j.Plan.KernelArguments)
	if err != nil {
		return nil, err
	}
	facts := rebootFacts{
		needed:     j.Plan.NeedsReboot || j.isBootObsolete(),
		registered: j.Run.State.Registered && !j.Run.State.Upgrade.IsDrained(),
		mode:       j.Run.Config.HostSettings,
		boot:       j.Host.Facts.BootID, neededIn: j.Run.State.RebootNeeded,
		booted: j.Plan.PayloadArguments.IsBooted(j.Host.Facts.Cmdline),
	}
	if len(made) > 0 || reverted {
		facts.neededIn = "" // an earlier reboot was for other arguments
	}
	action := decideReboot(facts)
	if action != rebootInVain && action != warnOfOthers {
		if err := j.recordReboot(facts.needed); err != nil {
			return nil, err
		}
	}
	return made, j.reboot(ctx, log, action)
}

// revertKernelArguments reverts the kernel arguments of an earlier payload if this one has others, and reports whether
// it did. The arguments of this payload are then set on top of the original ones. It first records that this boot has
// obsolete arguments.
func (j *Flow) revertKernelArguments(ctx context.Context, log report.Log) (bool, error) {
	isObsolete := func(item ledger.Item) bool {
		return item.Kind == ledger.KernelArguments && !slices.ContainsFunc(j.Plan.KernelArguments,
			func(change ledger.Change) bool { return slices.Equal(change.Desired.Names, item.Desired.Names) })
	}
	if !slices.ContainsFunc(j.Host.Ledger.Items(), isObsolete) {
		return false, nil
	}
	if err := j.recordReboot(true); err != nil {
		return false, err
	}
	_, err := j.Host.Ledger.RevertAndWarn(ctx, log, isObsolete)
	return true, err
}

// isBootObsolete reports whether a run in this boot has recorded that the boot must end.
func (j *Flow) isBootObsolete() bool {
	return j.Run.State.RebootNeeded != "" && j.Run.State.RebootNeeded == j.Host.Facts.BootID
}

// setHostSettings reverts the settings that this plan does not have any more, and sets those
// that it has. It returns the changes.
func (j *Flow) setHostSettings(ctx context.Context, log report.Log) ([]ledger.PlannedChange, error) {
	setsMore := func(item ledger.Item) bool { return plan.SetsMore(item, j.Plan.HostSettings) }
	if _, err := j.Host.Ledger.RevertAndWarn(ctx, log, setsMore); err != nil {
		return nil, err
	}
	return j.Host.Ledger.Apply(ctx, steps.System, j.Plan.HostSettings)
}

// recordReboot records durably whether this boot must end before its kernel arguments are right.
func (j *Flow) recordReboot(needed bool) error {
	boot := ""
	if needed {
		boot = j.Host.Facts.BootID
	}
	if j.Run.State.RebootNeeded == boot {
		return nil
	}
	j.Run.State.RebootNeeded = boot
	return joinstate.Write(j.Run.Dir, j.Run.State)
}

// reboot carries out the action. It returns an error unless the join or upgrade continues.
func (j *Flow) reboot(ctx context.Context, log report.Log, action rebootAction) error {
	what := "the kernel arguments of the payload"
	for _, change := range j.Plan.KernelArguments {
		what += " (" + change.Desired.Value + ")"
	}
	switch action {
	case warnOfReboot:
		log.Warn(what+" take effect at the next boot",
			report.Remedyf("oc adm drain %s --ignore-daemonsets --delete-emptydir-data # then reboot the node",
				j.Run.State.NodeName))
		return nil
	case warnOfOthers:
		log.Warn("the boot loader adds other values behind "+what+", which are in effect",
			"cat /proc/cmdline # compare it with the configuration of the boot loader")
		return nil
	case rebootInVain:
		return report.Fail(report.Failed, "cat /proc/cmdline # compare it with the configuration of the boot loader",
			"the host was rebooted, but not with %s", what)
	case awaitReboot:
		command := j.Run.CommandName()
		return j.Host.RebootNeeded(ctx, command,
			"%s are set; the host must be rebooted before the %s continues", what, command)
	case rebootNow:
		return j.Host.Reboot(ctx, log, j.Run.CommandName(), "with "+what)
	case noReboot:
	}
	return nil
}

// trackConfigs records that services have loaded the current configuration, before the files step
// changes it: an undo then loads the configuration after it has restored the files.
func (j *Flow) trackConfigs(ctx context.Context) error {
	items := j.Host.Ledger.Items()
	for _, name := range j.Plan.LoadedConfigs {
		change := resource.LoadedChange(name)
		if slices.ContainsFunc(items, func(item ledger.Item) bool { return item.Key() == change.Key() }) {
			continue
		}
		if _, err := j.Host.Ledger.TrackExternal(ctx, steps.Files, change); err != nil {
			return err
		}
	}
	return nil
}

// loadConfigs makes services load the configuration that the files step has written, unless an earlier
// run has done so. It returns the number of services. A failure is a warning, because the
// configuration takes effect at the next boot.
func (j *Flow) loadConfigs(ctx context.Context, log report.Log) (int, error) {
	n, items := 0, j.Host.Ledger.Items()
	for _, name := range j.Plan.LoadedConfigs {
		loaded, err := j.Host.LoadedConfigs.IsLoaded(ctx, name, items)
		if err != nil {
			return n, err
		}
		if loaded {
			continue
		}
		done, err := j.Host.Ledger.TrackExternal(ctx, steps.System, resource.LoadedChange(name))
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
