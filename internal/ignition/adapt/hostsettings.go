// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// seBooleans are the SELinux booleans that OpenShift images enable.
var seBooleans = []string{"container_manage_cgroup", "virt_use_samba", "container_use_cephfs"}

// nodePorts are the ports on which OpenShift nodes reach each other: services of pods in the host's
// network, kubelet and other parts of Kubernetes, the overlay network, and Services of type NodePort.
var nodePorts = []string{
	"9000-9999/tcp", "9000-9999/udp", "10250-10259/tcp", "6081/udp", "30000-32767/tcp", "30000-32767/udp",
}

// seBooleansCommand returns the command that enables the SELinux booleans.
func seBooleansCommand() report.Remedy {
	return report.Remedy("setsebool -P " + strings.Join(seBooleans, "=1 ") + "=1")
}

// planHostSettings plans the settings of the host that no file of the payload contains, if the agent
// applies them.
func (p *planner) planHostSettings() error {
	arguments := p.kernelArguments()
	p.plan.NeedsReboot = !arguments.IsMet(p.in.Facts.Cmdline)
	if !p.in.ApplyHostSettings {
		return nil
	}
	if len(arguments.Add)+len(arguments.Remove) > 0 {
		change, err := resource.KernelArguments{}.Change("payload", arguments)
		if err != nil {
			return err
		}
		p.plan.KernelArguments = append(p.plan.KernelArguments, change)
	}
	if !p.isPackageMode() || !p.runsKubelet() {
		return nil
	}
	if p.isSELinuxEnabled() {
		var settings []string
		for _, name := range seBooleans {
			settings = append(settings, name+"=on")
		}
		p.plan.HostSettings = append(p.plan.HostSettings, resource.BooleanChange("as on OpenShift images", settings...))
	}
	if p.in.FirewallZone != "" {
		ports := resource.PortChange("traffic between nodes", p.in.FirewallZone, nodePorts...)
		p.plan.HostSettings = append(p.plan.HostSettings, ports)
	}
	return nil
}

// noteKernelArguments adds a note about kernel arguments that this host was not booted with.
func (p *planner) noteKernelArguments() {
	arguments := p.kernelArguments()
	switch {
	case !p.plan.NeedsReboot:
		return
	case p.in.ApplyHostSettings:
		p.addReport("kernel arguments", "kernel-arguments", "the host was booted with different ones: "+
			"join sets them, and needs a reboot before it writes the files of the payload")
		return
	}
	command := "grubby --update-kernel=ALL"
	add, remove := arguments.Pending(p.in.Facts.Cmdline)
	if len(add) > 0 {
		command += " --args=" + report.ShellWord(strings.Join(add, " "))
	}
	if len(remove) > 0 {
		command += " --remove-args=" + report.ShellWord(strings.Join(remove, " "))
	}
	p.addUnsupported("kernel arguments", "kernel-arguments", "the host was booted with different ones",
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
		words := slices.DeleteFunc(strings.Fields(argument), func(word string) bool {
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
