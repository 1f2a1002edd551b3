package packages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Finding is one thing that is not as a node needs it.
type Finding struct {
	Name     string          `json:"name"` // stable, kebab-case
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`
	Remedy   string          `json:"remedy,omitempty"` // the next commands
}

// Missing is a package that is not installed.
type Missing struct {
	Package
	Repository string // that has it; "" when no enabled one does
	Spec       string // how dnf is asked for it
}

// Decision is what there is to do.
type Decision struct {
	Release  Release // that all is measured by; zero: not known
	Needed   int     // packages that a node needs
	Present  int     // of them
	Missing  []Missing
	Findings []Finding
}

// Specs are what dnf is asked to install: what is missing and can be had.
func (d Decision) Specs() []string {
	var specs []string
	for _, m := range d.Missing {
		if m.Repository != "" {
			specs = append(specs, m.Spec)
		}
	}
	return specs
}

// Err is the failure that the findings amount to, nil when none hinders a node.
// All of them are in it, with their remedies.
func (d Decision) Err() error {
	var texts, remedies []string
	for _, f := range d.Findings {
		if f.Severity != report.SeverityProblem {
			continue
		}
		texts = append(texts, f.Text)
		if f.Remedy != "" && !slices.Contains(remedies, f.Remedy) {
			remedies = append(remedies, f.Remedy)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return report.Fail(report.Refused, strings.Join(remedies, "\n"), "%s", strings.Join(texts, "; "))
}

// Decide finds what is missing, which repository has it, and what does not fit
// together.
func Decide(table Table, f Facts) Decision {
	d := &decision{table: table, facts: f, rhel: RHEL(f.OS)}
	d.Release = f.Release
	if d.Release.IsZero() {
		d.Release = f.kubelet() // what is there already says which release is meant
	}
	d.minor = table.minor(d.Release)
	d.look()
	if d.Release.IsZero() && len(d.Missing) > 0 {
		d.askForRelease()
		return d.Decision
	}
	if top := d.facts.ControlPlane; !top.IsZero() && d.table.compare(d.Release, top) > 0 && !d.facts.Release.IsZero() {
		d.find(report.SeverityProblem, "release-newer", "oc get nodepool -A # shows the version of the NodePool",
			"the release that was given (%s) is newer than the control plane (%s), which Kubernetes does not support", d.Release, d.numbers(top))
	}
	d.standing()
	d.repositories()
	d.modules()
	d.missing()
	d.skew()
	return d.Decision
}

// decision is one on its way.
type decision struct {
	Decision
	table Table
	facts Facts
	rhel  int
	minor int // of Kubernetes, of the release; 0: not known
}

func (d *decision) find(severity report.Severity, name, remedy, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{Name: name, Severity: severity, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// look fills what is present and what is missing. A program that is there
// without its package came in another way: dnf would put a second one over it.
func (d *decision) look() {
	for _, need := range d.table.Needs(d.rhel, d.Release, d.facts.Commands) {
		d.Needed++
		there := d.facts.has(need, d.table)
		if !there && need.Program != "" && slices.Contains(d.facts.Programs, need.Program) {
			there = true
			d.find(report.SeverityNote, "by-hand", "", "%s is there, but from none of the packages that are known to bring it: its version is not checked", need.Program)
		}
		if there {
			d.Present++
			continue
		}
		d.Missing = append(d.Missing, d.candidate(need))
	}
}

// candidate finds who has a missing package in the version that is needed.
func (d *decision) candidate(need Package) Missing {
	m := Missing{Package: need, Spec: need.Name}
	prefix := need.prefix(d.Release, d.minor)
	if prefix != "" {
		m.Spec += "-" + prefix + "*"
	}
	for _, p := range d.facts.Available {
		if p.Name == need.Name && strings.HasPrefix(p.Version, prefix) && d.facts.fits(p) {
			m.Repository = p.Repository
		}
	}
	return m
}

// askForRelease stops where nobody knows which release's packages are meant:
// the payload does not say, and a NodePool may be up to three minors behind its
// control plane.
func (d *decision) askForRelease() {
	top := d.facts.ControlPlane
	if top.IsZero() {
		d.find(report.SeverityProblem, "release", "hcp-node-agent join --openshift-release 4.Y # oc get nodepool -A shows the version of the NodePool",
			"packages are missing, and it is not known of which OpenShift release: the payload does not say it")
		return
	}
	var candidates []string
	for _, release := range d.candidates(top) {
		candidates = append(candidates, release.String())
	}
	d.find(report.SeverityProblem, "release",
		fmt.Sprintf("hcp-node-agent join --openshift-release %s # oc get nodepool -A shows the version of the NodePool", top),
		"packages are missing, and it is not known of which OpenShift release: the payload does not say it; with this control plane it can be %s", strings.Join(candidates, ", "))
}

// candidates returns the releases that a NodePool can have, the newest first.
func (d *decision) candidates(top Release) []Release {
	minor := d.table.minor(top)
	var list []Release
	for behind := 0; behind <= 3 && minor > 0; behind++ {
		list = append(list, d.table.Releases(minor-behind)...)
	}
	return list
}

// numbers returns all numbers of a release: 4.23 and 5.0 are one.
func (d *decision) numbers(release Release) string {
	names := []string{release.String()}
	for _, other := range d.table.Releases(d.table.minor(release)) {
		if other != release {
			names = append(names, other.String())
		}
	}
	return strings.Join(names, " or ")
}

// standing says how sure it is that such a worker can be.
func (d *decision) standing() {
	if d.Release.IsZero() {
		return
	}
	switch d.table.standing(d.rhel, d.Release) {
	case Documented:
	case Undocumented:
		d.find(report.SeverityNote, "standing", "",
			"a RHEL %d worker of OpenShift %s is not in any documentation; the packages are those that RHEL CoreOS of this release is made of", d.rhel, d.Release)
	case Ended:
		d.find(report.SeverityWarning, "standing", "# use a host with a newer RHEL",
			"RHEL %d workers have ended before OpenShift %s; its repositories have no packages for them", d.rhel, d.Release)
	default:
		d.find(report.SeverityWarning, "standing", "",
			"it is not known whether there are packages of OpenShift %s for RHEL %d; what is listed here is what its RHEL CoreOS is made of, as far as that is known", d.Release, d.rhel)
	}
}

// named is "cri-o (the container runtime)".
func named(list []Missing) string {
	var names []string
	for _, m := range list {
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, m.For))
	}
	return strings.Join(names, ", ")
}

// others lists what repositories have of a package, whatever its version.
func (d *decision) others(name string) []dnf.Package {
	var list []dnf.Package
	for _, p := range d.facts.Available {
		if p.Name == name {
			list = append(list, p)
		}
	}
	return list
}
