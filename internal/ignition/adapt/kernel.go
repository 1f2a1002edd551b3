// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// planKernelSettings plans the sysctls and modules of the running kernel that the plan's files set at the
// next boot: those in /etc/sysctl.d and /etc/modules-load.d, in the order in which systemd reads
// them. Other files of the host are ignored.
func (p *planner) planKernelSettings() {
	p.plan.Sysctls = p.readSettings(ledger.Sysctl, "/etc/sysctl.d", p.parseSysctl)
	p.plan.Modules = p.readSettings(ledger.Module, "/etc/modules-load.d", p.parseModule)
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
	name = strings.TrimSpace(name)
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	switch {
	case !found:
		return "", "", "", "" // an exclusion from patterns, or an invalid line
	case strings.ContainsAny(name, "*?["):
		return name, "", "sysctl-pattern", "a pattern, which is applied at the next boot"
	case isForwardingSysctl(name) && p.isForwardingManaged():
		return name, "", "forwarding",
			"the value of the running kernel is managed by OVN-Kubernetes, which sets it at each start"
	case name != "" && !p.in.HasSysctl(name):
		return name, "", "sysctl-absent", "the running kernel does not have this sysctl"
	}
	return name, strings.Join(strings.Fields(value), " "), "", ""
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
