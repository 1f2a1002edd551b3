// SPDX-License-Identifier: Apache-2.0

package software

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// reportPackages adds the findings about packages and repositories.
func (d *decision) reportPackages() {
	for _, c := range d.With(Unchecked) {
		d.addFinding(report.SeverityNote, "",
			"%s exists but was not installed from a known package: its version is not checked", c.Program)
	}
	if d.Release.IsZero() && len(d.Missing()) > 0 {
		d.requireRelease()
		return
	}
	d.checkSupport()
	d.checkRepositories()
	if names := describe(d.With(Hidden), func(c Choice) string { return c.Name }); names != "" {
		// On RHEL 8 the default stream of container-tools hides CRI-O's conmon, runc and crun behind those of
		// podman (OCPBUGS-34844).
		d.addFinding(report.SeverityProblem,
			"dnf -y module disable container-tools # list other enabled streams: dnf module list --enabled",
			"a module stream hides %s of an enabled repository (on RHEL 8: container-tools, which conflicts with "+
				"the packages of CRI-O)", names)
	}
	d.reportMissing()
	d.checkSignatures()
	d.explainImage()
}

// requireRelease adds a problem if the release is unknown, because the OS image of the payload could
// not be read. A NodePool can be up to three minor versions older than its control plane. Before the
// payload was fetched, it is a note.
func (d *decision) requireRelease() {
	if d.facts.BeforePayload {
		d.addFinding(report.SeverityNote, "",
			"packages are missing; join reads from the payload which release they must have")
		return
	}
	const text = "packages are missing and their OpenShift release is unknown"
	minor := d.facts.Versions.Server.Minor()
	var candidates []string
	for behind := range 4 {
		for _, release := range d.table.releases(minor - behind) {
			candidates = append(candidates, release.String())
		}
	}
	if len(d.table.releases(minor)) == 0 {
		d.addFinding(report.SeverityProblem,
			"hcp-node-agent join --openshift-release 4.Y # print the version of the NodePool: oc get nodepool -A", text)
		return
	}
	d.addFinding(report.SeverityProblem, report.Remedyf(
		"hcp-node-agent join --openshift-release %s # print the version of the NodePool: oc get nodepool -A", candidates[0]),
		text+"; possible with this control plane: %s", strings.Join(candidates, ", "))
}

// checkSupport adds a finding if this kind of worker is not documented.
func (d *decision) checkSupport() {
	if d.Release.IsZero() {
		return
	}
	switch d.table.supportLevel(d.rhel, d.Release) {
	case Documented:
	case Undocumented:
		d.addFinding(report.SeverityNote, "",
			"RHEL %d workers of OpenShift %s are not documented; the packages are those of RHEL CoreOS of this release",
			d.rhel, d.Release)
	case Discontinued:
		d.addFinding(report.SeverityWarning, "# use a host with a newer RHEL release",
			"RHEL %d workers are no longer supported in OpenShift %s; its repositories have no packages for them",
			d.rhel, d.Release)
	default:
		d.addFinding(report.SeverityWarning, "",
			"no repository with packages of OpenShift %s for RHEL %d is known; the listed packages are those of RHEL "+
				"CoreOS, as far as known", d.Release, d.rhel)
	}
}

// reportMissing adds findings for packages that the administrator must install, and for those that no
// source has. An upgrade changes only packages that are installed.
func (d *decision) reportMissing() {
	offered := d.With(Offered)
	if d.facts.Replace {
		offered = nil
	}
	required, optional := split(offered)
	if len(required) > 0 {
		d.addFinding(report.SeverityProblem,
			report.Remedy(installCommand(offered)+"\n# or:\nhcp-node-agent join --install-packages"),
			"required packages are not installed: %s", describePackages(required))
	} else {
		d.reportOptional(optional)
	}
	required, optional = split(d.With(Absent))
	d.reportAbsent(report.SeverityProblem, required)
	d.reportAbsent(report.SeverityWarning, optional)
	// None is required, because the repositories would have been queried.
	if d.facts.QueryError != "" {
		d.addFinding(report.SeverityWarning, "",
			"recommended packages were not searched for: %s", d.facts.QueryError)
	}
	d.reportOptional(d.With(Unqueried))
}

func (d *decision) reportOptional(list []Choice) {
	if len(list) > 0 {
		d.addFinding(report.SeverityWarning, report.Remedy(installCommand(list)),
			"recommended packages are not installed: %s", describePackages(list))
	}
}

// split returns the required packages of a list, and the optional ones.
func split(list []Choice) (required, optional []Choice) {
	for _, c := range list {
		if c.Need == needRequired {
			required = append(required, c)
		} else {
			optional = append(optional, c)
		}
	}
	return required, optional
}

// explainImage adds a problem if required packages that no repository provides cannot be unpacked from
// the OS image either.
func (d *decision) explainImage() {
	contents := d.facts.Contents
	if contents == nil || d.facts.Source == config.SoftwareRPM {
		return
	}
	absent, _ := split(d.With(Absent))
	inImage := slices.ContainsFunc(absent, func(c Choice) bool { return contents.find(c.Package) != "" })
	switch major := contents.RHELMajor(); {
	case inImage && major > 0 && major != d.rhel:
		d.addFinding(report.SeverityProblem, report.Remedyf("# use a host that runs RHEL %d, or the user data of a "+
			"NodePool with spec.osImageStream.name: rhel-%d (from OpenShift 5.0 on, the default is rhel-10)", major, d.rhel),
			"the packages are not unpacked from the OS image, because it contains RHEL %d, but this host runs RHEL %d",
			major, d.rhel)
	case len(absent) > 0 && len(contents.Packages) == 0 && d.facts.Source == config.SoftwareImage:
		d.addFinding(report.SeverityProblem,
			"# install the packages from the rhocp repository:\nhcp-node-agent join --software rpm",
			"the OS image of OpenShift %s has no separate layer for kubelet and CRI-O",
			contents.Release)
	}
}

// describePackages returns a list in the form "cri-o (the container runtime)".
func describePackages(list []Choice) string {
	return describe(list, func(c Choice) string { return fmt.Sprintf("%s (%s)", c.Name, c.For) })
}

// describe returns a list of texts.
func describe(list []Choice, text func(Choice) string) string {
	return strings.Join(lists.Map(list, text), ", ")
}

// installCommand returns the command that installs missing packages, required ones first.
func installCommand(list []Choice) string {
	specs := lists.Map(list, func(c Choice) string { return report.ShellWord(c.Spec) })
	return "dnf install " + strings.Join(specs, " ")
}

// reportAbsent adds a finding for each of RHEL's repositories whose packages no enabled repository
// provides.
func (d *decision) reportAbsent(severity report.Severity, list []Choice) {
	for len(list) > 0 {
		name := list[0].Repository
		isOther := func(c Choice) bool { return c.Repository != name }
		group := slices.DeleteFunc(slices.Clone(list), isOther)
		d.addFinding(severity, report.Remedy(d.enableRemedy(name, group)), "no enabled repository provides %s",
			describe(group, func(c Choice) string {
				return fmt.Sprintf("%s (%s)%s", c.Spec, c.For, d.describeAlternative(c))
			}))
		list = slices.DeleteFunc(slices.Clone(list), func(c Choice) bool { return !isOther(c) })
	}
}

// describeAlternative describes the versions that the repositories provide in place of the required
// version.
func (d *decision) describeAlternative(c Choice) string {
	var last *dnf.Package
	for i, p := range d.facts.Available {
		if p.Name == c.Name {
			last = &d.facts.Available[i]
		}
	}
	if last == nil {
		return ""
	}
	what := last.Version
	switch el := builtForRHEL(*last); {
	case el != 0 && el != d.rhel:
		what += fmt.Sprintf(" built for RHEL %d", el)
	case !d.facts.isInstallable(*last):
		what += " for " + last.Arch
	}
	return fmt.Sprintf(", only %s in %s", what, last.Repository)
}

// enableRemedy returns the remedy that makes a repository with the missing packages available.
func (d *decision) enableRemedy(name string, group []Choice) string {
	id := d.table.repositoryID(name, d.rhel, d.facts.arch(), d.Release)
	known, enabled := d.facts.repositoryState(id)
	again := installCommand(group) + " # or: hcp-node-agent join --install-packages"
	switch {
	case enabled:
		return fmt.Sprintf("dnf clean expire-cache\n# %s is enabled but does not provide it; list its packages:\n"+
			"dnf --disablerepo='*' --enablerepo=%s list --available", id, id)
	case d.facts.Subscription == NoSubscription && known && d.facts.DNF5:
		return fmt.Sprintf("dnf config-manager setopt %s.enabled=1\n%s", id, again)
	case d.facts.Subscription == NoSubscription && known:
		return fmt.Sprintf("dnf config-manager --set-enabled %s\n%s", id, again)
	case d.facts.Subscription == NoSubscription:
		return fmt.Sprintf("# mirror %s or its equivalent and add the mirror to /etc/yum.repos.d under any name\n%s",
			id, again)
	case d.facts.Subscription == Unregistered:
		return fmt.Sprintf("subscription-manager register\nsubscription-manager repos --enable=%s "+
			"# or add a mirror to /etc/yum.repos.d under any name\n%s", id, again)
	case !known:
		return fmt.Sprintf("subscription-manager repos --enable=%s # requires a subscription for OpenShift; "+
			"the current one does not include it\n%s", id, again)
	}
	return fmt.Sprintf("subscription-manager repos --enable=%s\n%s", id, again)
}
