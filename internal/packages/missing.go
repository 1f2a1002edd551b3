// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// reportMissing adds findings for missing packages: packages that can be installed, unless join
// installs them, and packages that no repository provides.
func (d *decision) reportMissing() {
	if !d.facts.Queried {
		d.reportUnqueried()
		return
	}
	var absent []Missing
	can := map[string][]Missing{}
	for _, m := range d.Missing {
		if m.Image != "" {
			continue
		}
		if m.Repository == "" {
			absent = append(absent, m)
			continue
		}
		can[m.Need] = append(can[m.Need], m)
	}
	if d.facts.Install {
		can = nil
	}
	if list := can["required"]; len(list) > 0 {
		d.addFinding(report.SeverityProblem, "not-installed", report.Remedy(d.installCommand(slices.Concat(list, can["wanted"]))+"\n# or:\nhcp-node-agent join --install-packages"),
			"required packages are not installed: %s", describePackages(list))
	} else if list := can["wanted"]; len(list) > 0 {
		d.addFinding(report.SeverityWarning, "not-installed", report.Remedy(d.installCommand(list)), "recommended packages are not installed: %s", describePackages(list))
	}
	for _, need := range []string{"required", "wanted"} {
		d.reportUnavailable(slices.DeleteFunc(slices.Clone(absent), func(m Missing) bool { return m.Need != need || d.isHidden(m.Name) }))
	}
	d.checkSignatures()
	d.explainImage(absent)
}

// explainImage adds a problem if required packages that no repository provides cannot be unpacked from
// the OS image either.
func (d *decision) explainImage(absent []Missing) {
	software := d.facts.Software
	if software == nil || d.facts.Source == config.SoftwareRPM {
		return
	}
	absent = slices.DeleteFunc(slices.Clone(absent), func(m Missing) bool { return m.Need != "required" })
	inImage := slices.ContainsFunc(absent, func(m Missing) bool { return software.find(m.Package) != "" })
	switch major := software.RHELMajor(); {
	case inImage && major > 0: // of this RHEL, they would not be absent
		d.addFinding(report.SeverityProblem, "image-of-other-rhel", report.Remedyf("# use a host that runs RHEL %d", major),
			"the packages are not unpacked from the OS image, because it contains RHEL %d, but this host runs RHEL %d", major, d.rhel)
	case len(absent) > 0 && len(software.Packages) == 0 && d.facts.Source == config.SoftwareImage:
		d.addFinding(report.SeverityProblem, "image-without-packages", "# set the source of the software: hcp-node-agent join --software rpm",
			"the packages cannot be unpacked from the OS image: OpenShift %s has one without a layer for them", software.Release)
	}
}

// reportUnqueried adds a warning for missing packages if no repository was queried. None of the
// packages is required, because the repositories would have been queried.
func (d *decision) reportUnqueried() {
	if len(d.Missing) == 0 {
		return
	}
	if d.facts.QueryError != "" {
		d.addFinding(report.SeverityWarning, "repositories-silent", "", "recommended packages were not searched for: %s", d.facts.QueryError)
	}
	d.addFinding(report.SeverityWarning, "not-installed", report.Remedy(d.installCommand(d.Missing)), "recommended packages are not installed: %s", describePackages(d.Missing))
}

// installCommand returns the command that installs the missing packages.
func (d *decision) installCommand(list []Missing) string {
	var specs []string
	for _, m := range list {
		if strings.Contains(m.Spec, "*") {
			m.Spec = "'" + m.Spec + "'"
		}
		specs = append(specs, m.Spec)
	}
	return "dnf install " + strings.Join(specs, " ")
}

// reportUnavailable adds a finding for each of RHEL's repositories whose packages no enabled
// repository provides.
func (d *decision) reportUnavailable(list []Missing) {
	byRepository := map[string][]Missing{}
	var order []string
	for _, m := range list {
		if byRepository[m.Package.Repository] == nil {
			order = append(order, m.Package.Repository)
		}
		byRepository[m.Package.Repository] = append(byRepository[m.Package.Repository], m)
	}
	for _, name := range order {
		group := byRepository[name]
		severity := report.SeverityProblem
		if group[0].Need != "required" {
			severity = report.SeverityWarning
		}
		var texts []string
		for _, m := range group {
			texts = append(texts, fmt.Sprintf("%s (%s)%s", m.Spec, m.For, d.describeAlternative(m)))
		}
		d.addFinding(severity, "not-available", report.Remedy(d.enableRemedy(name, group)), "no enabled repository provides %s", strings.Join(texts, ", "))
	}
}

// describeAlternative describes the versions that the repositories provide in place of the required
// version.
func (d *decision) describeAlternative(m Missing) string {
	all := d.availableVersions(m.Name)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	what := last.Version
	switch el := builtForRHEL(last); {
	case el != 0 && el != d.rhel:
		what += fmt.Sprintf(" built for RHEL %d", el)
	case !d.facts.isInstallable(last):
		what += " for " + last.Arch
	}
	return fmt.Sprintf(", only %s in %s", what, last.Repository)
}

// enableRemedy returns the remedy that makes a repository with the missing packages available.
func (d *decision) enableRemedy(name string, group []Missing) string {
	id := d.table.repositoryID(name, d.rhel, d.facts.arch(), d.Release)
	known, enabled := d.facts.repositoryState(id)
	again := d.installCommand(group) + " # or: hcp-node-agent join --install-packages"
	switch {
	case enabled:
		return fmt.Sprintf("dnf clean expire-cache\n# %s is enabled but does not provide it; list its packages:\ndnf --disablerepo='*' --enablerepo=%s list available", id, id)
	case d.facts.Subscription == NoSubscription && known:
		return fmt.Sprintf("dnf config-manager --set-enabled %s\n%s", id, again)
	case d.facts.Subscription == NoSubscription:
		return fmt.Sprintf("# mirror %s or its equivalent and add the mirror to /etc/yum.repos.d under any name\n%s", id, again)
	case d.facts.Subscription == Unregistered:
		return fmt.Sprintf("subscription-manager register\nsubscription-manager repos --enable=%s # or add a mirror to /etc/yum.repos.d under any name\n%s", id, again)
	case !known:
		return fmt.Sprintf("subscription-manager repos --enable=%s # requires a subscription for OpenShift; the current one does not include it\n%s", id, again)
	}
	return fmt.Sprintf("subscription-manager repos --enable=%s\n%s", id, again)
}

// checkSignatures adds a warning for repositories without signature checks that provide a missing
// package.
func (d *decision) checkSignatures() {
	var ids []string
	for _, m := range d.Missing {
		for _, r := range d.facts.Repositories {
			if r.ID == m.Repository && r.SignaturesUnchecked && !slices.Contains(ids, r.ID) {
				ids = append(ids, r.ID)
			}
		}
	}
	if len(ids) > 0 {
		d.addFinding(report.SeverityWarning, "gpgcheck", "rpm --import KEY # public key of the signer; also set gpgcheck=1 in the repository's file in /etc/yum.repos.d",
			"%s is configured with gpgcheck=0; --install-packages still requires packages signed with a key that rpm or the repository trusts", strings.Join(ids, ", "))
	}
}
