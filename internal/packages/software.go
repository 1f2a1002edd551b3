// SPDX-License-Identifier: Apache-2.0

package packages

import "maps"

// Software describes the software of a payload: its release, and the versions of the packages in
// the OS image that the payload names.
type Software struct {
	Image    string            `json:"image" doc:"pull spec of the OS image that the payload names"`
	Release  Release           `json:"release" doc:"OpenShift release of the OS image"`
	RHEL     string            `json:"rhel,omitempty" doc:"RHEL release of the OS image"`
	Packages map[string]string `json:"packages,omitempty" doc:"VERSION-RELEASE of the packages of a node in the OS image, from OpenShift 4.19 on"`
}

// String returns the releases, such as "OpenShift 4.19 on RHEL 9.6".
func (s Software) String() string {
	text := "OpenShift " + s.Release.String()
	if s.RHEL != "" {
		text += " on RHEL " + s.RHEL
	}
	return text
}

// KubernetesMinor returns N of the Kubernetes version 1.N of the software, or 0 if it is unknown: for
// an image before OpenShift 4.19 of a release that the table lacks.
func (s Software) KubernetesMinor(table Table) int {
	if minor := minorVersion(s.Packages["cri-o"]); minor > 0 {
		return minor
	}
	return table.kubernetesMinor(s.Release)
}

// OnlyNodePackages returns the packages in versions that a node requires, or that have equivalent
// names.
func (t Table) OnlyNodePackages(versions map[string]string) map[string]string {
	versions = maps.Clone(versions)
	maps.DeleteFunc(versions, func(name, _ string) bool {
		for _, p := range t.Packages {
			if p.matches(name) {
				return false
			}
		}
		return true
	})
	return versions
}
