// SPDX-License-Identifier: Apache-2.0

package software

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// A source provides packages that the host lacks. It returns the outcome for a package and where it has
// it, "" if it does not have it.
type source func(Choice) (outcome Outcome, from string)

// sources returns the sources of a missing package in the order of preference. Only dnf can replace an
// installed package, because rpm owns its files. An optional package is no reason to download a layer of
// hundreds of megabytes; required packages are decided first.
func (d *decision) sources(c Choice) []source {
	needsLayer := c.Need == needRequired || len(d.With(ToUnpack)) > 0
	switch {
	case c.Replaces != nil || !needsLayer:
		return []source{d.fromRepositories}
	case d.facts.Source == config.SoftwareImage && c.Program != "ovs-vsctl":
		return []source{d.fromImage, d.fromRepositories}
	case d.facts.Source == config.SoftwareImage, d.facts.Source == config.SoftwareAuto:
		return []source{d.fromRepositories, d.fromImage}
	}
	return []source{d.fromRepositories}
}

// fromRepositories offers the packages of the enabled repositories.
func (d *decision) fromRepositories(c Choice) (outcome Outcome, repository string) {
	for _, p := range d.facts.Available {
		if p.Name == c.Name && strings.HasPrefix(p.Version, d.prefix(c.Package)) && d.facts.isInstallable(p) {
			repository = p.Repository
		}
	}
	switch {
	case c.Replaces != nil:
		return ToReplace, repository
	case d.facts.Install:
		return ToInstall, repository
	}
	return Offered, repository
}

// fromImage offers the packages of the node layer of the OS image, if it contains the RHEL of the host.
func (d *decision) fromImage(c Choice) (outcome Outcome, name string) {
	if d.facts.Contents.RHELMajor() != d.rhel {
		return "", ""
	}
	return ToUnpack, d.facts.Contents.find(c.Package)
}
