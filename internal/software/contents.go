// SPDX-License-Identifier: Apache-2.0

package software

import (
	"maps"
	"regexp"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Contents describes the software of a payload: its release, and the versions of the packages in
// the OS image that the payload names.
type Contents struct {
	Image    string            `json:"image" doc:"pull spec of the OS image that the payload names"`
	Release  Release           `json:"release" doc:"OpenShift release of the OS image"`
	RHEL     string            `json:"rhel,omitempty" doc:"RHEL release of the OS image"`
	Arch     string            `json:"arch,omitempty" doc:"architecture of the OS image, such as amd64"`
	Packages map[string]string `json:"packages,omitempty" doc:"VERSION-RELEASE by package of a node, from 4.19 on"`
}

// String returns the releases, such as "OpenShift 4.19 on RHEL 9.6".
func (s Contents) String() string {
	text := "OpenShift " + s.Release.String()
	if s.RHEL != "" {
		text += " on RHEL " + s.RHEL
	}
	return text
}

// RHELMajor returns the major version of the RHEL release of the OS image, or 0 if it is unknown.
func (s *Contents) RHELMajor() int {
	if s == nil {
		return 0
	}
	return majorVersion(s.RHEL)
}

// imagePackages matches the packages that can be unpacked from an OS image. Other packages, such as
// conmon and crun, must match the host and come from its repositories.
var imagePackages = regexp.MustCompile(`^(openshift-kubelet|cri-o|cri-tools|openvswitch3\.\d+)$`)

// Versions returns packages with their versions, such as cri-o-1.32.4-1.el9.
func (s *Contents) Versions(names []string) []string {
	return lists.Map(names, func(name string) string { return name + "-" + s.Packages[name] })
}

// Unpackable returns the packages of the OS image that can be unpacked, in order.
func (s *Contents) Unpackable() []string {
	names := slices.Sorted(maps.Keys(s.Packages))
	return slices.DeleteFunc(names, func(name string) bool { return !imagePackages.MatchString(name) })
}

// version returns the version of the package in the OS image that meets a need, or "".
func (s *Contents) version(need Package) string {
	if name := s.find(need); name != "" {
		return s.Packages[name]
	}
	return ""
}

// find returns the name of the package in the OS image that meets a need, or "".
func (s *Contents) find(need Package) string {
	if s == nil {
		return ""
	}
	for name := range s.Packages {
		if need.matches(name) && imagePackages.MatchString(name) {
			return name
		}
	}
	return ""
}

// Equivalent returns the package of the OS image that takes the place of a package of another image,
// or "": the name of Open vSwitch contains its version.
func (s *Contents) Equivalent(table Table, name string) string {
	at := slices.IndexFunc(table.Packages, func(p Package) bool { return p.matches(name) })
	if at < 0 {
		return ""
	}
	return s.find(table.Packages[at])
}

// ReplaceVersion sets the version of a package to that of the installed one that a choice replaces.
func (s *Contents) ReplaceVersion(c Choice) {
	if s.Packages == nil {
		s.Packages = map[string]string{}
	}
	delete(s.Packages, s.find(c.Package))
	s.Packages[c.Replaces.Name] = c.Replaces.Version + "-" + c.Replaces.Release
}

// KubernetesMinor returns N of the Kubernetes version 1.N of a release, or 0 if it is unknown: for a
// release that the table lacks. The OS image of the release determines it if its contents are known.
func (s *Contents) KubernetesMinor(table Table, release Release) int {
	if s != nil && s.Release == release {
		if version, err := kube.ParseVersion(s.Packages["cri-o"]); err == nil && version.Minor() > 0 {
			return version.Minor()
		}
	}
	return table.Kubernetes[release]
}

// OnlyNodePackages returns the packages in versions that a node requires, or that have equivalent
// names.
func (t Table) OnlyNodePackages(versions map[string]string) map[string]string {
	versions = maps.Clone(versions)
	maps.DeleteFunc(versions, func(name, _ string) bool {
		return !slices.ContainsFunc(t.Packages, func(p Package) bool { return p.matches(name) })
	})
	return versions
}
