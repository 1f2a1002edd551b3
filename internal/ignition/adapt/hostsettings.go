// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planHostSettings plans the settings of the host that no file of the payload contains. If the agent does not apply
// them, it adds notes about those for which the administrator needs a command.
func (p *planner) planHostSettings() error {
	arguments := kernelArguments(p.payload, p.in.Facts.CgroupV2)
	p.plan.PayloadArguments = arguments
	p.plan.NeedsReboot = !arguments.IsMet(p.in.Facts.Cmdline)
	if p.in.ApplyHostSettings && len(arguments.Add)+len(arguments.Remove) > 0 {
		change, err := resource.KernelArguments{}.Change("payload", arguments)
		if err != nil {
			return err
		}
		p.plan.KernelArguments = append(p.plan.KernelArguments, change)
	}
	if !p.isAdapted() || !p.units.runsKubelet() {
		return nil
	}
	facts := resource.SettingFacts{SELinux: isSELinuxEnabled(p.in.Facts), FirewallZone: p.in.FirewallZone}
	for _, setting := range resource.HostSettings() {
		change, isRequired := setting.Change(facts)
		switch {
		case !isRequired:
		case p.in.ApplyHostSettings:
			p.plan.HostSettings = append(p.plan.HostSettings, change)
		case setting.Remedy != "":
			p.plan.Notes = append(p.plan.Notes, Note{
				Subject: thisHost, Action: Report, Reason: setting.Reason, Rule: setting.Name, Remedy: setting.Remedy,
			})
		}
	}
	return nil
}

// noteKernelArguments adds a note about kernel arguments that this host was not booted with.
func (p *planner) noteKernelArguments() {
	arguments := kernelArguments(p.payload, p.in.Facts.CgroupV2)
	if !p.plan.NeedsReboot {
		return
	}
	words := p.in.Facts.Cmdline
	next := arguments.Next(words)
	reason := "the host was booted with different ones"
	if gone := bootloader.Removed(words, next); len(gone) > 0 {
		reason += "; removed or replaced: " + strings.Join(gone, " ")
	}
	if p.in.ApplyHostSettings {
		p.plan.addReport("kernel arguments", "kernel-arguments", reason+
			": join sets them, and needs a reboot before it writes the files of the payload")
		return
	}
	command, flags := "grubby --update-kernel=ALL", bootloader.GrubbyFlags(words, next)
	if p.in.Facts.Capabilities().HasImage {
		command, flags = "rpm-ostree kargs", bootloader.KargsFlags(words, next)
	}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		command += " " + name + "=" + report.ShellWord(value)
	}
	p.addUnsupported("kernel arguments", "kernel-arguments", reason,
		report.Remedy(command+" # takes effect at the next boot"))
}

// kernelArguments returns the kernel arguments of the MachineConfig and of the payload itself.
func kernelArguments(payload *ignition.Payload, isCgroupV2 bool) resource.ArgumentChange {
	var arguments resource.ArgumentChange
	added := slices.Clone(payload.MachineConfig().KernelArguments)
	for _, argument := range payload.Config.KernelArguments.ShouldExist {
		added = append(added, string(argument))
	}
	arguments.Add = WithoutDefaults(added, isCgroupV2)
	for _, argument := range payload.Config.KernelArguments.ShouldNotExist {
		arguments.Remove = append(arguments.Remove, string(argument))
	}
	return arguments
}

// WithoutDefaults returns kernel arguments without the words that a host has by default: RHEL 9 uses cgroup v2 without
// an argument. One argument can consist of several words.
func WithoutDefaults(arguments []string, isCgroupV2 bool) []string {
	var left []string
	for _, argument := range arguments {
		words := slices.DeleteFunc(bootloader.Split(argument), func(word string) bool {
			word = strings.ReplaceAll(word, `"`, "")
			return isCgroupV2 && (word == "systemd.unified_cgroup_hierarchy=1" || word == "cgroup_no_v1=all")
		})
		if len(words) > 0 {
			left = append(left, strings.Join(words, " "))
		}
	}
	return left
}

// loadsConfig reports whether a rule's files are loaded in the join, and plans that.
func (p *planner) loadsConfig(r *rule) bool {
	if !p.in.ApplyHostSettings || r.Loader.Name == "" || (r.Loader.Unit != "" && !p.in.HasUnit(r.Loader.Unit)) {
		return false
	}
	if !slices.Contains(p.plan.LoadedConfigs, r.Loader.Name) {
		p.plan.LoadedConfigs = append(p.plan.LoadedConfigs, r.Loader.Name)
	}
	return true
}

// loadedUnits returns the units that load their configuration in the join.
func (p *planner) loadedUnits() []string {
	var units []string
	for _, r := range p.rules {
		if r.Loader.Unit != "" && slices.Contains(p.plan.LoadedConfigs, r.Loader.Name) {
			units = append(units, r.Loader.Unit)
		}
	}
	return units
}
