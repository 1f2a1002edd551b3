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
	p.plan.Sysctls = p.readSettings("/etc/sysctl.d", p.parseSysctl)
	p.plan.Modules = p.readSettings("/etc/modules-load.d", p.parseModule)
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
// names. If several lines set the same key, the last one counts.
func (p *planner) readSettings(dir string, read func(file, line string) (ledger.Change, bool)) []ledger.Change {
	var files []ledger.Change
	for _, change := range p.plan.Files {
		if change.Kind == ledger.File && change.Desired.Present && path.Dir(change.Target) == dir && strings.HasSuffix(change.Target, ".conf") {
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
			desired, ok := read(file.Target, line)
			if !ok {
				continue
			}
			changes = slices.DeleteFunc(changes, func(earlier ledger.Change) bool { return earlier.Target == desired.Target })
			changes = append(changes, desired)
		}
	}
	return changes
}

// parseSysctl parses a line of sysctl.d(5). Patterns are skipped, because they apply at boot to keys,
// such as those of interfaces, that exist then.
func (p *planner) parseSysctl(file, line string) (ledger.Change, bool) {
	name, value, found := strings.Cut(strings.TrimPrefix(line, "-"), "=")
	name = sysctlName(strings.TrimSpace(name))
	if !found || name == "" {
		return ledger.Change{}, false // an exclusion from patterns, or an invalid line
	}
	if strings.ContainsAny(name, "*?[") {
		p.addReport(name, "sysctl-pattern", "a pattern, which is applied at the next boot")
		return ledger.Change{}, false
	}
	if isForwardingSysctl(name) && p.isForwardingManaged() {
		p.addReport(name, "forwarding", "the value of the running kernel is managed by OVN-Kubernetes, which sets it at each start")
		return ledger.Change{}, false
	}
	if !p.in.HasSysctl(name) {
		p.addReport(name, "sysctl-absent", "the running kernel does not have this sysctl")
		return ledger.Change{}, false
	}
	return ledger.Change{Kind: ledger.Sysctl, Target: name, Reason: file, Desired: ledger.State{
		Present: true, Value: strings.Join(strings.Fields(value), " "),
	}}, true
}

// sysctlName returns the name with dots as separators.
func sysctlName(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		return strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return name
}

func (p *planner) parseModule(file, line string) (ledger.Change, bool) {
	if !p.in.HasModule(line) {
		p.addReport(line, "module-absent", "this module does not exist for the running kernel")
		return ledger.Change{}, false
	}
	return ledger.Change{Kind: ledger.Module, Target: line, Reason: file, Desired: ledger.State{Present: true}}, true
}

func (p *planner) addReport(subject, rule, reason string) {
	p.plan.Notes = append(p.plan.Notes, Note{Subject: subject, Action: Report, Reason: reason, Rule: rule})
}
