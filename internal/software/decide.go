// SPDX-License-Identifier: Apache-2.0

package software

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Outcome describes what a join or an upgrade does about a required package.
type Outcome string

// The outcomes.
const (
	Present   Outcome = "present"   // the package is installed
	Unchecked Outcome = "unchecked" // its binary exists but belongs to no known package
	ToInstall Outcome = "install"   // dnf installs it
	ToReplace Outcome = "replace"   // dnf installs another version of it
	ToUnpack  Outcome = "unpack"    // it is unpacked from the OS image
	Offered   Outcome = "offered"   // a repository has it; the administrator must install it
	Hidden    Outcome = "hidden"    // a module stream hides it
	Unqueried Outcome = "unqueried" // it is missing, and no repository was queried
	Absent    Outcome = "absent"    // no source has it
)

// Choice is a required package with its outcome.
type Choice struct {
	Package

	Outcome  Outcome
	From     string       // ID of the repository, or name of the package in the OS image; "" if no source has it
	Spec     string       // package spec for dnf
	Replaces *dnf.Package // the installed package, if another version is required
}

// Decision is the result of Decide.
type Decision struct {
	Managed    bool             // the agent checks and installs the packages of this host
	Release    Release          // target release; zero if unknown
	Packages   []Choice         // one for each required package
	Unpack     []string         // names of the packages that are unpacked from the OS image
	Findings   []report.Finding // about packages and repositories
	Mismatches []report.Finding // about versions of kubelet and CRI-O
	// KubeletMinor is N of the version 1.N of the kubelet that the node will run; 0 if it is unknown.
	KubeletMinor int
}

// With returns the packages with one of the outcomes.
func (d Decision) With(outcomes ...Outcome) []Choice {
	return d.filter(func(c Choice) bool { return slices.Contains(outcomes, c.Outcome) })
}

// Missing returns the packages that are not installed, or not in the required version.
func (d Decision) Missing() []Choice {
	return d.filter(func(c Choice) bool { return c.Outcome != Present && c.Outcome != Unchecked })
}

func (d Decision) filter(selected func(Choice) bool) []Choice {
	return slices.DeleteFunc(slices.Clone(d.Packages), func(c Choice) bool { return !selected(c) })
}

// Specs returns the specs of the packages that dnf installs.
func (d Decision) Specs() []string {
	return lists.Map(d.With(ToInstall, ToReplace), func(c Choice) string { return c.Spec })
}

// Replaced returns the names of the packages of which another version is installed or unpacked.
func (d Decision) Replaced() []string {
	return slices.Concat(d.Unpack, lists.Map(d.With(ToReplace), func(c Choice) string { return c.Name }))
}

// Err returns the failure for the findings of severity problem, nil if there are none.
func (d Decision) Err() error { return report.Refusal(slices.Concat(d.Findings, d.Mismatches)) }

// Decide determines the outcome of each required package, and which versions are incompatible. It changes
// nothing.
func Decide(f Facts) Decision {
	d := &decision{facts: f, table: f.Table, rhel: RHEL(f.OS)}
	d.Managed, d.Release = f.Managed, f.release()
	if d.Release.IsZero() {
		d.Release = f.kubeletRelease() // the installed kubelet determines the release
	}
	d.minor = f.Contents.KubernetesMinor(f.Table, d.Release)
	if f.Managed {
		for _, need := range d.table.needs(d.rhel, d.Release, f.Commands) {
			d.Packages = append(d.Packages, d.choose(need))
		}
		d.reportPackages()
	} else {
		d.chooseForBinaries()
	}
	d.selectUnpacked()
	d.checkVersions()
	return d.Decision
}

// decision is the state of a running Decide.
type decision struct {
	Decision
	facts Facts
	table Table
	rhel  int
	minor int // Kubernetes minor version of the release; 0 if unknown
}

func (d *decision) addFinding(severity report.Severity, remedy report.Remedy, format string, args ...any) {
	finding := report.Findingf(severity, remedy, format, args...)
	finding.RefusesJoin = severity == report.SeverityProblem
	d.Findings = append(d.Findings, finding)
}

// choose determines the outcome of a required package. A binary of an unknown package is not replaced,
// because dnf would install a second copy.
func (d *decision) choose(need Package) Choice {
	c := Choice{Package: need, Outcome: Present, Replaces: d.findReplaced(need)}
	lacksBinary := need.Program != "" && !slices.Contains(d.facts.Programs, need.Program)
	switch {
	case c.Replaces != nil:
	case d.facts.isInstalled(need):
		return c
	case d.facts.isUnpacked(need) && !lacksBinary: // else its files were removed since
		return c
	case need.Program != "" && !lacksBinary:
		c.Outcome = Unchecked
		return c
	}
	c.Spec = need.Name
	switch want := d.facts.Contents.version(need); {
	case c.Replaces != nil && want != "" && d.isAvailable(need.Name, want):
		c.Spec += "-" + want
	case d.prefix(need) != "":
		c.Spec += "-" + d.prefix(need) + "*"
	}
	switch {
	case !d.facts.Queried:
		c.Outcome = Unqueried
		return c
	case d.isHidden(need.Name):
		c.Outcome = Hidden
		return c
	}
	c.Outcome = Absent
	for _, offer := range d.sources(c) {
		if outcome, from := offer(c); from != "" {
			c.Outcome, c.From = outcome, from
			break
		}
	}
	return c
}

// prefix returns the required prefix of the version of a package, or "" for any version.
func (d *decision) prefix(need Package) string { return need.versionPrefix(d.Release, d.minor) }

// findReplaced returns a package that is installed in a version of another release, or of the same
// release while the version of the OS image is available or was not searched for yet. It returns nil if
// there is none.
func (d *decision) findReplaced(need Package) *dnf.Package {
	prefix := d.prefix(need)
	if !d.facts.Replace || prefix == "" {
		return nil
	}
	want := d.facts.Contents.version(need)
	at := slices.IndexFunc(d.facts.Installed, func(p dnf.Package) bool {
		if !need.matches(p.Name) {
			return false
		}
		isOther := want != "" && p.Version+"-"+p.Release != want
		return !strings.HasPrefix(p.Version, prefix) ||
			(isOther && (!d.facts.Queried || d.isAvailable(need.Name, want)))
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

// isHidden reports whether a module stream hides a package of an enabled repository. Packages
// of inactive streams are hidden too, but do not count.
func (d *decision) isHidden(name string) bool {
	return slices.ContainsFunc(d.facts.Hidden, func(p dnf.Package) bool {
		return p.Name == name && d.facts.isInstallable(p) && !strings.Contains(p.Release, ".module") &&
			!slices.Contains(d.facts.Available, p)
	})
}

// chooseForBinaries determines the packages that provide missing binaries, for a host whose packages the
// agent does not manage.
func (d *decision) chooseForBinaries() {
	if d.facts.Source == config.SoftwareRPM || d.facts.ImageMode {
		return
	}
	for _, need := range d.table.Packages {
		name := d.facts.Contents.find(need)
		if name != "" && need.Contains(d.Release) && slices.Contains(d.facts.MissingPrograms, need.Program) {
			d.Packages = append(d.Packages, Choice{Package: need, Outcome: ToUnpack, From: name})
		}
	}
}

// selectUnpacked determines the packages to unpack: missing ones, those that an interrupted run has put
// partly at their usual paths, and in an upgrade those that were unpacked in another version.
func (d *decision) selectUnpacked() {
	for _, c := range d.With(ToUnpack) {
		d.Unpack = lists.AppendMissing(d.Unpack, c.From)
	}
	for _, old := range d.facts.Unpacked {
		if old.Incomplete {
			d.Unpack = lists.AppendMissing(d.Unpack, old.Name)
		}
		if next := d.facts.Contents.Equivalent(d.table, old.Name); d.facts.Replace && next != "" &&
			(next != old.Name || d.facts.Contents.Packages[next] != old.Version) {
			d.Unpack = lists.AppendMissing(d.Unpack, next)
		}
	}
}
