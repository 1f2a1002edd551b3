// SPDX-License-Identifier: Apache-2.0

package software

import (
	"cmp"
	_ "embed" // table.yaml
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

//go:embed table.yaml
var tableYAML []byte

// Table is the content of table.yaml.
type Table struct {
	Workers []Worker `json:"workers"`
	// Kubernetes 1 minor version by OpenShift release.
	Kubernetes   map[Release]int `json:"kubernetes"`
	Repositories []Repository    `json:"repositories"`
	Packages     []Package       `json:"packages"`
}

// Span is a range of releases that includes both ends. A zero end is open.
type Span struct {
	From Release `json:"from,omitzero"`
	To   Release `json:"to,omitzero"`
}

// SupportLevel is the support level of a kind of worker.
type SupportLevel string

// The support levels, described in table.yaml.
const (
	Documented   SupportLevel = "documented"
	Undocumented SupportLevel = "undocumented"
	Discontinued SupportLevel = "ended"
	Unknown      SupportLevel = "unknown"
)

// Worker is a kind of worker: a major version of RHEL in a range of releases.
type Worker struct {
	Span
	RHEL    int          `json:"rhel"`
	Support SupportLevel `json:"support"`
	Source  string       `json:"source"`
}

// Repository is one of RHEL's repositories. RHEL, RELEASE and ARCH in its ID are
// placeholders.
type Repository struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Source string `json:"source"`
}

// Package is a package that a worker requires.
type Package struct {
	Span
	Name       string `json:"name"`
	Accepts    string `json:"accepts,omitempty"` // regular expression of equivalent names
	RHEL       []int  `json:"rhel,omitempty"`    // major versions; empty: all
	Repository string `json:"repository"`
	// Version is release or kubernetes if the package's version follows that version, else empty.
	Version string `json:"version,omitempty"`
	Need    string `json:"need"`              // required, wanted or payload
	Program string `json:"program,omitempty"` // program of the package
	For     string `json:"for"`
	Source  string `json:"source"`

	names *regexp.Regexp // the names that Accepts permits
}

// The values of Package.Need.
const (
	needRequired = "required"
	needWanted   = "wanted"  // a node works without the package
	needPayload  = "payload" // only if the payload runs the program
)

// ReadTable returns the embedded table, which it parses once.
func ReadTable() (Table, error) { return parsedTable() }

var parsedTable = sync.OnceValues(func() (Table, error) {
	var table Table
	if err := yaml.UnmarshalStrict(tableYAML, &table); err != nil {
		return Table{}, fmt.Errorf("reading the package table: %w", err)
	}
	for i := range table.Packages {
		p := &table.Packages[i]
		pattern := cmp.Or(p.Accepts, regexp.QuoteMeta(p.Name))
		var err error
		if p.names, err = regexp.Compile("^(?:" + pattern + ")$"); err != nil {
			return Table{}, fmt.Errorf("reading the package table: package %s: %w", p.Name, err)
		}
	}
	return table, nil
})

// Contains reports whether a release is in the span. An unknown release is in every span.
func (s Span) Contains(r Release) bool {
	return r.IsZero() || (r.Compare(s.From) >= 0 && (s.To.IsZero() || r.Compare(s.To) <= 0))
}

// supportLevel returns the support level of a worker, or Unknown if the table has no row.
func (t Table) supportLevel(rhel int, release Release) SupportLevel {
	worker := lists.Find(t.Workers, func(w Worker) bool { return w.RHEL == rhel && w.Contains(release) })
	return cmp.Or(worker.Support, Unknown)
}

// needs returns the packages of a worker, required packages first. The keys of commands are
// the commands that the payload runs; true means in a unit.
func (t Table) needs(rhel int, release Release, commands map[string]bool) []Package {
	var list []Package
	for _, need := range []string{needRequired, needWanted} {
		for _, p := range t.Packages {
			isOfHost := p.Contains(release) && (len(p.RHEL) == 0 || slices.Contains(p.RHEL, rhel))
			if p.Need = p.need(commands); p.Need == need && isOfHost {
				list = append(list, p)
			}
		}
	}
	return list
}

// need returns required or wanted, or "" for a package that a worker with this payload does
// not need.
func (p Package) need(commands map[string]bool) string {
	inUnit, runs := commands[p.Program]
	switch {
	case p.Need == needRequired || inUnit:
		return needRequired
	case p.Need == needPayload && !runs:
		return ""
	}
	return needWanted
}

// Names returns all package names in the table, for a single query.
func (t Table) Names() []string {
	names := lists.Map(t.Packages, func(p Package) string { return p.Name })
	slices.Sort(names)
	return slices.Compact(names)
}

// repositoryID returns a repository's ID for a kind of host.
func (t Table) repositoryID(name string, rhel int, arch string, release Release) string {
	repository := lists.Find(t.Repositories, func(r Repository) bool { return r.Name == name })
	values := strings.NewReplacer("RELEASE", release.String(), "ARCH", arch, "RHEL", fmt.Sprint(rhel))
	return cmp.Or(values.Replace(repository.ID), name)
}

// releases returns the releases that ship Kubernetes 1.minor, newest first. There can be
// several: 4.23 and 5.0 are one release with two numbers.
func (t Table) releases(minor int) []Release {
	var list []Release
	for release, has := range t.Kubernetes {
		if has == minor {
			list = append(list, release)
		}
	}
	slices.SortFunc(list, func(a, b Release) int { return b.Compare(a) })
	return list
}

// isSame reports whether two releases are one: 4.23 and 5.0 have the same Kubernetes version.
func (t Table) isSame(a, b Release) bool {
	minor := t.Kubernetes[a]
	return a == b || (minor > 0 && minor == t.Kubernetes[b])
}

// kubeletPackage returns the name of the package of kubelet in a release.
func (t Table) kubeletPackage(release Release) string {
	kubelet := lists.Find(t.Packages, func(p Package) bool { return p.Program == "kubelet" && p.Contains(release) })
	return cmp.Or(kubelet.Name, "openshift-kubelet")
}

// matches reports whether a package of this name meets the requirement.
func (p Package) matches(name string) bool { return p.names.MatchString(name) }

// versionPrefix returns the required prefix of the version, or "" for any version. minor is the
// Kubernetes minor version; 0 if unknown.
func (p Package) versionPrefix(release Release, minor int) string {
	switch {
	case p.Version == "release" && !release.IsZero():
		return release.String() + "."
	case p.Version == "kubernetes" && minor > 0:
		return fmt.Sprintf("1.%d.", minor)
	}
	return ""
}
