// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// planKernelSettings plans the sysctls and modules of the running kernel that the plan's files set at the
// next boot: those in /etc/sysctl.d, /etc/sysctl.conf and /etc/modules-load.d, in the order in which systemd reads
// them. Other files of the host are ignored.
func (p *planner) planKernelSettings() {
	isForwardingManaged := p.isForwardingManaged()
	settings := kernelSettings{
		files:               p.plan.Files,
		hasSysctl:           p.in.HasSysctl,
		hasModule:           p.in.HasModule,
		isModuleLoaded:      p.in.IsModuleLoaded,
		isForwardingManaged: isForwardingManaged,
	}
	p.plan.Modules, p.plan.Sysctls = settings.read()
	p.plan.Notes = append(p.plan.Notes, settings.notes...)
	if !isForwardingManaged {
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

// kernelSettings reads settings of the running kernel from planned files.
type kernelSettings struct {
	files               []ledger.Change
	hasSysctl           func(name string) bool
	hasModule           func(name string) bool
	isModuleLoaded      func(name string) bool
	isForwardingManaged bool // OVN-Kubernetes sets the sysctls of IP forwarding

	modules []ledger.Change // read before the sysctls, of which the kernel can get more with them
	notes   []Note          // about settings that are not made
}

// read returns the modules and the sysctls, and adds notes about settings that are not made.
func (k *kernelSettings) read() (modules, sysctls []ledger.Change) {
	k.modules = k.readFiles(ledger.Module, "/etc/modules-load.d", k.parseModule)
	return k.modules, k.readFiles(ledger.Sysctl, "/etc/sysctl.d", k.parseSysctl)
}

// readFiles returns the settings in the planned files of a directory, in the order of the file
// names. If several lines set the same key, the last one counts. parse returns the setting of a line, and a
// rule with its reason if the setting is not made.
func (k *kernelSettings) readFiles(
	kind ledger.Kind, dir string, parse func(line string) (name, value, rule, reason string),
) []ledger.Change {
	var files []ledger.Change
	for _, change := range k.files {
		isConfig := path.Dir(readAs(change)) == dir && strings.HasSuffix(change.Target, ".conf")
		if change.Kind == ledger.File && change.Desired.Present && isConfig {
			files = append(files, change)
		}
	}
	slices.SortFunc(files, func(a, b ledger.Change) int { return cmp.Compare(readAs(a), readAs(b)) })
	var changes []ledger.Change
	for _, file := range files {
		for line := range strings.Lines(string(file.Desired.Content)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			name, value, rule, reason := parse(line)
			if rule != "" {
				k.notes = append(k.notes, Note{Subject: name, Action: Report, Reason: reason, Rule: rule})
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

// readAs returns the path under which systemd reads a file. RHEL has a link to /etc/sysctl.conf in /etc/sysctl.d.
func readAs(file ledger.Change) string {
	if file.Target == "/etc/sysctl.conf" {
		return "/etc/sysctl.d/99-sysctl.conf"
	}
	return file.Target
}

// parseSysctl parses a line of sysctl.d(5). Patterns are skipped, because they apply at boot to keys,
// such as those of interfaces, that exist then.
func (k *kernelSettings) parseSysctl(line string) (name, value, rule, reason string) {
	name, value, found := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	name = hostinfo.SysctlName(strings.TrimSpace(name))
	switch {
	case !found:
		return "", "", "", "" // an exclusion from patterns, or an invalid line
	case strings.ContainsAny(name, "*?["):
		return name, "", "sysctl-pattern", "a pattern, which is applied at the next boot"
	case isForwardingSysctl(name) && k.isForwardingManaged:
		return name, "", "forwarding",
			"the value of the running kernel is managed by OVN-Kubernetes, which sets it at each start"
	case name != "" && !k.hasSysctl(name) && !k.loadsModules():
		return name, "", "sysctl-absent", "the running kernel does not have this sysctl, or no value of it"
	}
	return name, strings.Join(strings.Fields(value), " "), "", ""
}

// loadsModules reports whether the join loads modules, with which the kernel can get more sysctls.
func (k *kernelSettings) loadsModules() bool {
	return slices.ContainsFunc(k.modules, func(c ledger.Change) bool { return !k.isModuleLoaded(c.Target) })
}

func (k *kernelSettings) parseModule(line string) (name, value, rule, reason string) {
	if !k.hasModule(line) {
		return line, "", "module-absent", "this module does not exist for the running kernel"
	}
	return line, "", "", ""
}
