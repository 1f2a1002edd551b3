// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// planHostSettings plans the settings of the host that no file of the payload contains. If the agent does not apply
// them, it adds notes about those for which the administrator needs a command.
func (p *planner) planHostSettings() error {
	arguments := p.kernelArguments()
	p.plan.PayloadArguments = arguments
	p.plan.NeedsReboot = !arguments.IsMet(p.in.Facts.Cmdline)
	if p.in.ApplyHostSettings && len(arguments.Add)+len(arguments.Remove) > 0 {
		change, err := resource.KernelArguments{}.Change("payload", arguments)
		if err != nil {
			return err
		}
		p.plan.KernelArguments = append(p.plan.KernelArguments, change)
	}
	if !p.isAdapted() || !p.runsKubelet() {
		return nil
	}
	facts := resource.SettingFacts{SELinux: p.isSELinuxEnabled(), FirewallZone: p.in.FirewallZone}
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
	arguments := p.kernelArguments()
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
		p.addReport("kernel arguments", "kernel-arguments", reason+
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

// kernelArguments returns the kernel arguments of the MachineConfig and of the payload itself. One
// argument can consist of several words. Words that this host has by default are excluded: RHEL 9
// uses cgroup v2 without an argument.
func (p *planner) kernelArguments() resource.ArgumentChange {
	var arguments resource.ArgumentChange
	added := slices.Clone(p.payload.MachineConfig().KernelArguments)
	for _, argument := range p.payload.Config.KernelArguments.ShouldExist {
		added = append(added, string(argument))
	}
	for _, argument := range added {
		words := slices.DeleteFunc(bootloader.Split(argument), func(word string) bool {
			word = strings.ReplaceAll(word, `"`, "")
			return p.in.Facts.CgroupV2 && (word == "systemd.unified_cgroup_hierarchy=1" || word == "cgroup_no_v1=all")
		})
		if len(words) > 0 {
			arguments.Add = append(arguments.Add, strings.Join(words, " "))
		}
	}
	for _, argument := range p.payload.Config.KernelArguments.ShouldNotExist {
		arguments.Remove = append(arguments.Remove, string(argument))
	}
	return arguments
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

// planKernelSettings plans the sysctls and modules of the running kernel that the plan's files set at the
// next boot: those in /etc/sysctl.d and /etc/modules-load.d, in the order in which systemd reads
// them. Other files of the host are ignored.
func (p *planner) planKernelSettings() {
	p.plan.Modules = p.readSettings(ledger.Module, "/etc/modules-load.d", p.parseModule)
	p.plan.Sysctls = p.readSettings(ledger.Sysctl, "/etc/sysctl.d", p.parseSysctl)
	if !p.isForwardingManaged() {
		return
	}
	for _, name := range forwardingSysctls() {
		if p.in.HasSysctl(name) {
			p.plan.Snapshots = append(p.plan.Snapshots, ledger.Change{
				Kind: ledger.ForeignSysctl, Target: name, Reason: "OVN-Kubernetes sets it", Desired: ledger.State{Present: true},
			})
		}
	}
}

// readSettings returns the settings in the planned files of a directory, in the order of the file
// names. If several lines set the same key, the last one counts. parse returns the setting of a line, and a
// rule with its reason if the setting is not made.
func (p *planner) readSettings(
	kind ledger.Kind, dir string, parse func(line string) (name, value, rule, reason string),
) []ledger.Change {
	var files []ledger.Change
	for _, change := range p.plan.Files {
		target := change.Target
		isConfig := path.Dir(target) == dir && strings.HasSuffix(target, ".conf")
		if change.Kind == ledger.File && change.Desired.Present && isConfig {
			files = append(files, change)
		}
	}
	slices.SortFunc(files, func(a, b ledger.Change) int { return cmp.Compare(a.Target, b.Target) })
	var changes []ledger.Change
	for _, file := range files {
		for line := range strings.Lines(string(file.Desired.Content)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			name, value, rule, reason := parse(line)
			if rule != "" {
				p.addReport(name, rule, reason)
			}
			if rule != "" || name == "" {
				continue
			}
			changes = slices.DeleteFunc(changes, func(earlier ledger.Change) bool { return earlier.Target == name })
			desired := ledger.State{Present: true, Value: value}
			changes = append(changes, ledger.Change{Kind: kind, Target: name, Reason: file.Target, Desired: desired})
		}
	}
	return changes
}

// parseSysctl parses a line of sysctl.d(5). Patterns are skipped, because they apply at boot to keys,
// such as those of interfaces, that exist then.
func (p *planner) parseSysctl(line string) (name, value, rule, reason string) {
	name, value, found := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	name = hostinfo.SysctlName(strings.TrimSpace(name))
	switch {
	case !found:
		return "", "", "", "" // an exclusion from patterns, or an invalid line
	case strings.ContainsAny(name, "*?["):
		return name, "", "sysctl-pattern", "a pattern, which is applied at the next boot"
	case isForwardingSysctl(name) && p.isForwardingManaged():
		return name, "", "forwarding",
			"the value of the running kernel is managed by OVN-Kubernetes, which sets it at each start"
	case name != "" && !p.in.HasSysctl(name) && !p.loadsModules():
		return name, "", "sysctl-absent", "the running kernel does not have this sysctl, or no value of it"
	}
	return name, strings.Join(strings.Fields(value), " "), "", ""
}

// loadsModules reports whether the join loads modules, with which the kernel can get more sysctls.
func (p *planner) loadsModules() bool {
	return slices.ContainsFunc(p.plan.Modules, func(c ledger.Change) bool { return !p.in.IsModuleLoaded(c.Target) })
}

func (p *planner) parseModule(line string) (name, value, rule, reason string) {
	if !p.in.HasModule(line) {
		return line, "", "module-absent", "this module does not exist for the running kernel"
	}
	return line, "", "", ""
}

func (p *planner) addReport(subject, rule, reason string) {
	p.plan.Notes = append(p.plan.Notes, Note{Subject: subject, Action: Report, Reason: reason, Rule: rule})
}
