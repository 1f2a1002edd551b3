// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

// unitSet contains the units of a payload, and those that it requires.
type unitSet struct {
	all      []types.Unit
	provided map[string]types.Unit  // units with contents in the payload that no rule skips
	needed   map[string]string      // required units with the reason
	hostHas  func(name string) bool // whether the host has a unit file of that name
	packages map[string]string      // RHEL packages of units, by name of the unit
}

func newUnitSet(all []types.Unit, hostHas func(name string) bool, packages map[string]string) unitSet {
	return unitSet{
		all:      all,
		provided: map[string]types.Unit{},
		needed:   map[string]string{},
		hostHas:  hostHas,
		packages: packages,
	}
}

// require records the units that the payload requires, each with the reason: enabled units,
// kubelet, and the units that these require.
func (s *unitSet) require(enabled []types.Unit) {
	for _, u := range enabled {
		s.needed[u.Name] = "enabled by the payload"
	}
	for reached := slices.Clone(enabled); len(reached) > 0; reached = reached[1:] {
		u := reached[0]
		for _, name := range unitRequirements(u) {
			if s.needed[name] != "" {
				continue
			}
			s.needed[name] = "required by " + u.Name
			if next, found := s.find(name); found {
				reached = append(reached, next)
			}
		}
	}
}

// find returns the unit of that name in the payload, which can have contents, drop-ins, or both.
func (s *unitSet) find(name string) (types.Unit, bool) {
	i := slices.IndexFunc(s.all, func(u types.Unit) bool { return u.Name == name })
	if i < 0 {
		return types.Unit{}, false
	}
	return s.all[i], true
}

// unitRequirements returns the units without which systemd does not start u.
func unitRequirements(u types.Unit) []string {
	names := strings.Fields(strings.Join(sectionValues(u, "Unit", "Requires", "Requisite", "BindsTo"), " "))
	// systemd expands specifiers at run time.
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "%") })
}

// isAvailable reports whether the payload or the host provides a unit.
func (s *unitSet) isAvailable(name string) bool {
	if _, found := s.provided[name]; found || s.hostHas(name) {
		return true
	}
	template := templateOf(name)
	return template != "" && s.isAvailable(template)
}

func (s *unitSet) runsKubelet() bool {
	_, found := s.provided[kubeletUnit]
	return found
}

// missing returns the needed units that neither the payload nor the host provides, each with its
// package.
func (s *unitSet) missing(facts hostinfo.Facts) []string {
	var missing []string
	for name, why := range s.needed {
		if s.isAvailable(name) {
			continue
		}
		text := fmt.Sprintf("%s (%s", name, why)
		if description := describePackage(s.packages[name], facts); description != "" {
			text += "; package " + description
		}
		missing = append(missing, text+")")
	}
	slices.Sort(missing)
	return missing
}

// comesWithRequiredPackage reports whether a unit belongs to a package that must be installed for another unit.
func (s *unitSet) comesWithRequiredPackage(name string) bool {
	packageName := s.packages[name]
	for other := range s.needed {
		if packageName != "" && s.packages[other] == packageName && !s.isAvailable(other) {
			return true
		}
	}
	return false
}

// describePackage returns a RHEL package with its repository, if that is not a base repository.
func describePackage(name string, facts hostinfo.Facts) string {
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
