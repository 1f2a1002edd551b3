// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Missing is a package that is not installed.
type Missing struct {
	Package
	Repository string       // enabled repository with the package; "" if none
	Spec       string       // package spec for dnf
	Image      string       // name of the package in the OS image, from which it is unpacked; "" if it is not
	Replaces   *dnf.Package // the installed package, if its version is replaced
}

// Decision is the result of Decide.
type Decision struct {
	Release  Release // target release; zero if unknown
	Needed   int     // number of required packages
	Present  int     // number of them that are installed
	Missing  []Missing
	Findings []report.Finding
}

// Specs returns the package specs of the missing packages that a repository can provide.
func (d Decision) Specs() []string {
	var specs []string
	for _, m := range d.Missing {
		if m.Repository != "" && m.Image == "" {
			specs = append(specs, m.Spec)
		}
	}
	return specs
}

// Replaced returns the missing packages that are installed in a version of another release.
func (d Decision) Replaced() []Missing {
	return slices.DeleteFunc(slices.Clone(d.Missing), func(m Missing) bool { return m.Replaces == nil })
}

// FromImage returns the names of the missing packages that are unpacked from the OS image.
func (d Decision) FromImage() []string {
	var names []string
	for _, m := range d.Missing {
		if m.Image != "" {
			names = append(names, m.Image)
		}
	}
	return names
}

// Err returns the failure for the findings of severity problem, nil if there are none.
func (d Decision) Err() error { return report.Refusal(d.Findings) }

// Decide determines which packages are missing, which repository provides them, and which
// versions are incompatible. It changes nothing.
func Decide(table Table, f Facts) Decision {
	d := &decision{table: table, facts: f, rhel: RHEL(f.OS)}
	d.Release = f.Release
	if d.Release.IsZero() {
		d.Release = f.kubeletRelease() // the installed kubelet determines the release
	}
	d.minor = table.kubernetesMinor(d.Release)
	d.findMissing()
	if d.Release.IsZero() && len(d.Missing) > 0 {
		d.requireRelease()
		return d.Decision
	}
	if top := d.facts.ControlPlane; !top.IsZero() && d.table.compare(d.Release, top) > 0 && !d.facts.Release.IsZero() {
		d.addFinding(report.SeverityProblem, "release-newer", "oc get nodepool -A # prints the version of the NodePool",
			"the requested release (%s) is newer than the control plane (%s), which Kubernetes does not support", d.Release, d.releaseNumbers(top))
	}
	d.checkSupport()
	d.checkRepositories()
	d.checkModules()
	d.reportMissing()
	d.checkSkew()
	return d.Decision
}

// decision is the state of a running Decide.
type decision struct {
	Decision
	table Table
	facts Facts
	rhel  int
	minor int // Kubernetes minor version of the release; 0 if unknown
}

func (d *decision) addFinding(severity report.Severity, name string, remedy report.Remedy, format string, args ...any) {
	d.Findings = append(d.Findings, report.Finding{
		Check:       name,
		Severity:    severity,
		Message:     fmt.Sprintf(format, args...),
		Remedy:      remedy,
		RefusesJoin: severity == report.SeverityProblem,
	})
}

// findMissing determines the present and the missing packages. A program without its package was
// installed in another way and counts as present, because dnf would install a second copy.
func (d *decision) findMissing() {
	for _, need := range d.table.needs(d.rhel, d.Release, d.facts.Commands) {
		d.Needed++
		replaced := d.findReplaced(need)
		there := d.facts.isInstalled(need, d.table) && replaced == nil
		if !there && replaced == nil && need.Program != "" && slices.Contains(d.facts.Programs, need.Program) {
			there = true
			d.addFinding(report.SeverityNote, "by-hand", "", "%s exists but was not installed from a known package: its version is not checked", need.Program)
		}
		if there {
			d.Present++
			continue
		}
		d.Missing = append(d.Missing, d.candidate(need, replaced))
	}
	// An optional package is no reason to download a layer of hundreds of megabytes.
	if !slices.ContainsFunc(d.Missing, func(m Missing) bool { return m.Image != "" && m.Need == "required" }) {
		for i := range d.Missing {
			d.Missing[i].Image = ""
		}
	}
}

// findReplaced returns a package that is installed in a version of another release, or of the same
// release while the version of the OS image is available or was not searched for yet. It returns nil if
// there is none.
func (d *decision) findReplaced(need Package) *dnf.Package {
	prefix := need.versionPrefix(d.Release, d.minor)
	if !d.facts.Replace || prefix == "" {
		return nil
	}
	want := d.facts.Software.version(need)
	at := slices.IndexFunc(d.facts.Installed, func(p dnf.Package) bool {
		if !need.matches(p.Name) {
			return false
		}
		isOther := want != "" && p.Version+"-"+p.Release != want
		return !strings.HasPrefix(p.Version, prefix) || (isOther && (!d.facts.Queried || d.isAvailable(need.Name, want)))
	})
	if at < 0 {
		return nil
	}
	return &d.facts.Installed[at]
}

// isAvailable reports whether a repository has a package in exactly this version.
func (d *decision) isAvailable(name, version string) bool {
	return slices.ContainsFunc(d.facts.Available, func(p dnf.Package) bool {
		return p.Name == name && p.Version+"-"+p.Release == version && d.facts.isInstallable(p)
	})
}

// replaces reports whether the package that provides a program is replaced.
func (d *decision) replaces(program string) bool {
	return slices.ContainsFunc(d.Missing, func(m Missing) bool { return m.Replaces != nil && m.Program == program })
}

// candidate returns the missing package with the repository that has the required version.
func (d *decision) candidate(need Package, replaced *dnf.Package) Missing {
	m := Missing{Package: need, Spec: need.Name, Replaces: replaced}
	prefix := need.versionPrefix(d.Release, d.minor)
	switch want := d.facts.Software.version(need); {
	case replaced != nil && want != "" && d.isAvailable(need.Name, want):
		m.Spec += "-" + want
	case prefix != "":
		m.Spec += "-" + prefix + "*"
	}
	for _, p := range d.facts.Available {
		if p.Name == need.Name && strings.HasPrefix(p.Version, prefix) && d.facts.isInstallable(p) {
			m.Repository = p.Repository
		}
	}
	if replaced == nil { // rpm would still own the files
		m.Image = d.imagePackage(m)
	}
	return m
}

// imagePackage returns the name of a missing package in the OS image if it is unpacked from there.
func (d *decision) imagePackage(m Missing) string {
	wanted := false
	switch d.facts.Source {
	case config.SoftwareAuto:
		wanted = m.Repository == ""
	case config.SoftwareImage:
		wanted = m.Repository == "" || m.Program != "ovs-vsctl"
	}
	if !wanted || d.facts.Software.RHELMajor() != d.rhel {
		return ""
	}
	return d.facts.Software.find(m.Package)
}

// requireRelease adds a problem if the release is unknown, because the OS image of the payload could
// not be read. A NodePool can be up to three minor versions older than its control plane. Before the
// payload was fetched, it is a note.
func (d *decision) requireRelease() {
	if d.facts.BeforePayload {
		d.addFinding(report.SeverityNote, "release", "", "packages are missing; join reads from the payload which release they must have")
		return
	}
	const text = "packages are missing and their OpenShift release is unknown"
	top := d.facts.ControlPlane
	if top.IsZero() {
		d.addFinding(report.SeverityProblem, "release", "hcp-node-agent join --openshift-release 4.Y # print the version of the NodePool: oc get nodepool -A", text)
		return
	}
	var candidates []string
	for _, release := range d.candidateReleases(top) {
		candidates = append(candidates, release.String())
	}
	d.addFinding(report.SeverityProblem, "release",
		report.Remedyf("hcp-node-agent join --openshift-release %s # print the version of the NodePool: oc get nodepool -A", top),
		text+"; possible with this control plane: %s", strings.Join(candidates, ", "))
}

// candidateReleases returns the possible releases of a NodePool, newest first.
func (d *decision) candidateReleases(top Release) []Release {
	minor := d.table.kubernetesMinor(top)
	var list []Release
	for behind := 0; behind <= 3 && minor > 0; behind++ {
		list = append(list, d.table.releases(minor-behind)...)
	}
	return list
}

// releaseNumbers returns all version numbers of a release: 4.23 and 5.0 are the same release.
func (d *decision) releaseNumbers(release Release) string {
	names := []string{release.String()}
	for _, other := range d.table.releases(d.table.kubernetesMinor(release)) {
		if other != release {
			names = append(names, other.String())
		}
	}
	return strings.Join(names, " or ")
}

// checkSupport adds a finding if this kind of worker is not documented.
func (d *decision) checkSupport() {
	if d.Release.IsZero() {
		return
	}
	switch d.table.supportLevel(d.rhel, d.Release) {
	case Documented:
	case Undocumented:
		d.addFinding(report.SeverityNote, "standing", "",
			"RHEL %d workers of OpenShift %s are not documented; the packages are those of RHEL CoreOS of this release", d.rhel, d.Release)
	case Discontinued:
		d.addFinding(report.SeverityWarning, "standing", "# use a host with a newer RHEL release",
			"RHEL %d workers are no longer supported in OpenShift %s; its repositories have no packages for them", d.rhel, d.Release)
	default:
		d.addFinding(report.SeverityWarning, "standing", "",
			"it is unknown whether packages of OpenShift %s exist for RHEL %d; the listed packages are those of RHEL CoreOS, as far as known", d.Release, d.rhel)
	}
}

// describePackages returns a list in the form "cri-o (the container runtime)".
func describePackages(list []Missing) string {
	var names []string
	for _, m := range list {
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, m.For))
	}
	return strings.Join(names, ", ")
}

// availableVersions returns the available packages of this name, with any version.
func (d *decision) availableVersions(name string) []dnf.Package {
	var list []dnf.Package
	for _, p := range d.facts.Available {
		if p.Name == name {
			list = append(list, p)
		}
	}
	return list
}
