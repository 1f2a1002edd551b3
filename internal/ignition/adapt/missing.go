// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

// requiredUnits returns the units that the payload requires, each with the reason: enabled units,
// kubelet, and the units that these require.
func (p *planner) requiredUnits() map[string]string {
	needed := map[string]string{}
	var reached []types.Unit
	for _, u := range p.payload.Config.Systemd.Units {
		r := p.findRule(kindUnit, u.Name, subject{unit: u}, true)
		if isEnabled(u) && !isMasked(u) && (r == nil || (r.Effect != effectSkip && !r.Effect.keepsDisabled())) {
			needed[u.Name] = "enabled by the payload"
			reached = append(reached, u)
		}
	}
	for ; len(reached) > 0; reached = reached[1:] {
		u := reached[0]
		for _, name := range unitRequirements(u) {
			if needed[name] != "" {
				continue
			}
			needed[name] = "required by " + u.Name
			if next, found := p.findUnit(name); found {
				reached = append(reached, next)
			}
		}
	}
	return needed
}

// findUnit returns the unit of that name in the payload, which can have contents, drop-ins, or both.
func (p *planner) findUnit(name string) (types.Unit, bool) {
	all := p.payload.Config.Systemd.Units
	i := slices.IndexFunc(all, func(u types.Unit) bool { return u.Name == name })
	if i < 0 {
		return types.Unit{}, false
	}
	return all[i], true
}

// unitRequirements returns the units without which systemd does not start u.
func unitRequirements(u types.Unit) []string {
	names := strings.Fields(strings.Join(sectionValues(u, "Unit", "Requires", "Requisite", "BindsTo"), " "))
	// systemd expands specifiers at run time.
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "%") })
}

// isAvailable reports whether the payload or the host provides a unit.
func (p *planner) isAvailable(name string) bool {
	if _, found := p.provided[name]; found || p.in.HasUnit(name) {
		return true
	}
	template := templateOf(name)
	return template != "" && p.isAvailable(template)
}

// planMissingUnits lists the needed units that neither the payload nor the host provides, each with its
// package.
func (p *planner) planMissingUnits() {
	for name, why := range p.needed {
		if p.isAvailable(name) {
			continue
		}
		text := fmt.Sprintf("%s (%s", name, why)
		if packageName := p.table.packageForUnit(name, p.in.Facts); packageName != "" {
			text += "; package " + packageName
		}
		p.plan.MissingUnits = append(p.plan.MissingUnits, text+")")
	}
	slices.Sort(p.plan.MissingUnits)
}

// comesWithRequiredPackage reports whether a unit belongs to a package that must be installed for another unit.
func (p *planner) comesWithRequiredPackage(name string) bool {
	packageName := p.table.UnitPackages[name]
	for other := range p.needed {
		if packageName != "" && p.table.UnitPackages[other] == packageName && !p.isAvailable(other) {
			return true
		}
	}
	return false
}

// packageForUnit returns the RHEL package of a unit, with its repository if that is not a base
// repository.
func (t table) packageForUnit(unit string, facts hostinfo.Facts) string {
	name := t.UnitPackages[unit]
	if facts.OS.ID != "rhel" {
		return name
	}
	major, _, _ := strings.Cut(facts.OS.Version, ".")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[facts.Arch]
	switch name {
	case "openvswitch3.Y":
		return fmt.Sprintf("%s of repository fast-datapath-for-rhel-%s-%s-rpms", name, major, arch)
	case "cri-o":
		return fmt.Sprintf("%s of repository rhocp-RELEASE-for-rhel-%s-%s-rpms, or from the OS image", name, major, arch)
	}
	return name
}
