// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// rebootAction is the reaction of a join to kernel arguments with which the host was not booted.
type rebootAction string

const (
	noReboot        rebootAction = "none"      // not needed
	warnOfReboot    rebootAction = "warn"      // the join continues; the administrator drains and reboots the node
	awaitReboot     rebootAction = "await"     // the join stops; the administrator reboots the host
	rebootNow       rebootAction = "reboot"    // the agent reboots the host
	rebootUnchanged rebootAction = "unchanged" // a reboot has not changed the kernel arguments
	warnOfOthers    rebootAction = "others"    // the join continues; the boot loader adds others behind the arguments
)

// argumentFacts is the input of decideArgumentReboot.
type argumentFacts struct {
	needed     bool   // the host was booted with other kernel arguments than those of the payload
	registered bool   // the Node has been Ready, and can have pods
	mode       string // the setting hostSettings
	boot       string // ID of the current boot
	neededIn   string // ID of the boot in which an earlier run has set the same arguments; "" for none
	booted     bool   // the host was booted with the arguments, and others behind them
}

// decideArgumentReboot returns the reaction. It never reboots a node that can have pods, and never reboots twice
// for the same arguments.
func decideArgumentReboot(f argumentFacts) rebootAction {
	switch {
	case !f.needed:
		return noReboot
	case f.neededIn != "" && f.neededIn != f.boot && f.booted:
		return warnOfOthers
	case f.registered:
		return warnOfReboot
	case f.neededIn != "" && f.neededIn != f.boot:
		return rebootUnchanged
	case f.mode == config.HostSettingsReboot:
		return rebootNow
	}
	return awaitReboot
}

// bootSettings changes settings of the payload that take effect only at a boot, and makes the host boot with them: the
// kernel arguments, and the units of RHEL CoreOS.
type bootSettings struct {
	run  *plan.Run
	host *machine.Machine
	plan *plan.Plan
}

// setKernelArguments sets the kernel arguments of the next boot. It fails, or reboots, if the host was
// booted with different ones. It returns the changes.
func (b bootSettings) setKernelArguments(ctx context.Context, log report.Log) ([]ledger.PlannedChange, error) {
	if !b.run.Config.AppliesHostSettings() {
		return nil, nil
	}
	reverted, err := b.revertKernelArguments(ctx, log)
	if err != nil {
		return nil, err
	}
	made, err := b.host.Ledger.Apply(ctx, steps.Files, b.plan.KernelArguments)
	if err != nil {
		return nil, err
	}
	facts := argumentFacts{
		needed:     b.plan.NeedsReboot || b.isBootObsolete(),
		registered: b.run.State.Registered && !b.run.State.Upgrade.IsDrained(),
		mode:       b.run.Config.HostSettings,
		boot:       b.host.Facts.BootID, neededIn: b.run.State.RebootNeeded,
		booted: b.plan.PayloadArguments.IsBooted(b.host.Facts.Cmdline),
	}
	if len(made) > 0 || reverted {
		facts.neededIn = "" // an earlier reboot was for other arguments
	}
	action := decideArgumentReboot(facts)
	if action != rebootUnchanged && action != warnOfOthers {
		if err := b.recordReboot(facts.needed); err != nil {
			return nil, err
		}
	}
	return made, b.reboot(ctx, log, action)
}

// revertKernelArguments reverts the kernel arguments of an earlier payload if this one has others, and reports whether
// it did. The arguments of this payload are then set on top of the original ones. It first records that this boot has
// obsolete arguments, unless an update of the image has reverted them already.
func (b bootSettings) revertKernelArguments(ctx context.Context, log report.Log) (bool, error) {
	isObsolete := func(item ledger.Item) bool {
		return item.Kind == ledger.KernelArguments && !slices.ContainsFunc(b.plan.KernelArguments,
			func(change ledger.Change) bool { return slices.Equal(change.Desired.Names, item.Desired.Names) })
	}
	items := slices.DeleteFunc(b.host.Ledger.Items(), func(item ledger.Item) bool { return !isObsolete(item) })
	if len(items) == 0 {
		return false, nil
	}
	isBooted, err := hasBootedArguments(items, b.host.Facts.Cmdline)
	if err != nil {
		return false, err
	}
	if isBooted {
		if err := b.recordReboot(true); err != nil {
			return false, err
		}
	}
	_, err = b.host.Ledger.RevertAndWarn(ctx, log, isObsolete)
	return true, err
}

// hasBootedArguments reports whether a revert of the items changes the words with which the host was booted.
func hasBootedArguments(items []ledger.Item, words []string) (bool, error) {
	for _, item := range items {
		arguments, err := resource.DecodeArguments(item.Change)
		if err != nil || !bootloader.HaveSameWords(words, arguments.Former(words, item.Before.Names)) {
			return true, err
		}
	}
	return false, nil
}

// isBootObsolete reports whether a run in this boot has recorded that the boot must end.
func (b bootSettings) isBootObsolete() bool {
	return b.run.State.RebootNeeded != "" && b.run.State.RebootNeeded == b.host.Facts.BootID
}

// recordReboot records durably whether this boot must end before its kernel arguments are right.
func (b bootSettings) recordReboot(needed bool) error {
	boot := ""
	if needed {
		boot = b.host.Facts.BootID
	}
	if b.run.State.RebootNeeded == boot {
		return nil
	}
	b.run.State.RebootNeeded = boot
	return joinstate.Write(b.run.Dir, b.run.State)
}

// reboot carries out the action. It returns an error unless the join or upgrade continues.
func (b bootSettings) reboot(ctx context.Context, log report.Log, action rebootAction) error {
	what := "the kernel arguments of the payload"
	for _, change := range b.plan.KernelArguments {
		what += " (" + change.Desired.Value + ")"
	}
	switch action {
	case warnOfReboot:
		log.Warn(what+" take effect at the next boot",
			report.Remedyf("oc adm drain %s --ignore-daemonsets --delete-emptydir-data # then reboot the node",
				b.run.State.NodeName))
		return nil
	case warnOfOthers:
		log.Warn("the boot loader adds other values behind "+what+", which are in effect",
			"cat /proc/cmdline # compare it with the configuration of the boot loader")
		return nil
	case rebootUnchanged:
		return report.Fail(report.Failed, "cat /proc/cmdline # compare it with the configuration of the boot loader",
			"the host was rebooted, but not with %s", what)
	case awaitReboot:
		command := b.run.CommandName()
		return b.host.RebootNeeded(ctx, command,
			"%s are set; the host must be rebooted before the %s continues", what, command)
	case rebootNow:
		return b.host.Reboot(ctx, log, b.run.CommandName(), "with "+what)
	case noReboot:
	}
	return nil
}
