package packages

import (
	"cmp"
	_ "embed" // the table
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed table.yaml
var tableYAML []byte

// Table is what is known, as table.yaml has it.
type Table struct {
	Workers      []Worker       `json:"workers"`
	Kubernetes   map[string]int `json:"kubernetes"` // OpenShift release: minor version of Kubernetes 1
	Repositories []Repository   `json:"repositories"`
	Packages     []Package      `json:"packages"`
}

// Span is a range of releases, both ends included; an empty end is open.
type Span struct {
	From Release `json:"from,omitzero"`
	To   Release `json:"to,omitzero"`
}

// Standing is how sure it is that a kind of worker can be.
type Standing string

// The standings; table.yaml says what they mean.
const (
	Documented   Standing = "documented"
	Undocumented Standing = "undocumented"
	Ended        Standing = "ended"
	Unknown      Standing = "unknown"
)

// Worker is a kind of worker: RHEL of a major version in a range of releases.
type Worker struct {
	Span
	RHEL     int      `json:"rhel"`
	Standing Standing `json:"standing"`
	Source   string   `json:"source"`
}

// Repository is one of RHEL's; RHEL, RELEASE and ARCH stand in its id.
type Repository struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Source string `json:"source"`
}

// Package is what a worker needs.
type Package struct {
	Span
	Name       string `json:"name"`
	Accepts    string `json:"accepts,omitempty"` // regular expression of names that do as well
	RHEL       []int  `json:"rhel,omitempty"`    // major versions; none: all
	Repository string `json:"repository"`
	Version    string `json:"version,omitempty"` // what its version follows: release, kubernetes or nothing
	Need       string `json:"need"`              // required, wanted or payload
	Program    string `json:"program,omitempty"` // that it brings
	For        string `json:"for"`
	Source     string `json:"source"`
}

// ReadTable reads the table that is part of the program.
func ReadTable() (Table, error) {
	var table Table
	if err := yaml.UnmarshalStrict(tableYAML, &table); err != nil {
		return Table{}, fmt.Errorf("reading the table of packages: %w", err)
	}
	return table, nil
}

// Holds tells whether a release is in the span. One that is not known is in
// every span.
func (s Span) Holds(r Release) bool {
	return r.IsZero() || (r.Compare(s.From) >= 0 && (s.To.IsZero() || r.Compare(s.To) <= 0))
}

// standing tells how a worker stands; Unknown where the table has no row.
func (t Table) standing(rhel int, release Release) Standing {
	for _, worker := range t.Workers {
		if worker.RHEL == rhel && worker.Holds(release) {
			return worker.Standing
		}
	}
	return Unknown
}

// Needs lists the packages of a worker, those without which it does not work
// first. commands are those that its payload runs; true: in a unit.
func (t Table) Needs(rhel int, release Release, commands map[string]bool) []Package {
	var list []Package
	for _, need := range []string{"required", "wanted"} {
		for _, p := range t.Packages {
			if p.Need = p.need(commands); p.Need == need && p.Holds(release) && (len(p.RHEL) == 0 || slices.Contains(p.RHEL, rhel)) {
				list = append(list, p)
			}
		}
	}
	return list
}

// need returns required or wanted, or "" for a package that a worker with this
// payload does not need.
func (p Package) need(commands map[string]bool) string {
	inUnit, runs := commands[p.Program]
	switch {
	case p.Need == "required" || inUnit:
		return "required"
	case p.Need == "payload" && !runs:
		return ""
	}
	return "wanted"
}

// Names lists every name that any worker can need, to ask about all at once.
func (t Table) Names() []string {
	var names []string
	for _, p := range t.Packages {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// id is a repository's on a host of this kind.
func (t Table) id(name string, rhel int, arch string, release Release) string {
	for _, repository := range t.Repositories {
		if repository.Name == name {
			return strings.NewReplacer("RELEASE", release.String(), "ARCH", arch, "RHEL", fmt.Sprint(rhel)).Replace(repository.ID)
		}
	}
	return name
}

// minor is the minor version of Kubernetes that a release has; 0: not known.
func (t Table) minor(release Release) int { return t.Kubernetes[release.String()] }

// Releases returns the releases that ship Kubernetes 1.minor, the newest first.
// They can be several: 4.23 and 5.0 are one release with two numbers.
func (t Table) Releases(minor int) []Release {
	var list []Release
	for text, has := range t.Kubernetes {
		if release, err := ParseRelease(text); err == nil && has == minor {
			list = append(list, release)
		}
	}
	slices.SortFunc(list, func(a, b Release) int { return b.Compare(a) })
	return list
}

// Newest returns the newest release that ships Kubernetes 1.minor; zero when the
// table has none.
func (t Table) Newest(minor int) Release {
	if list := t.Releases(minor); len(list) > 0 {
		return list[0]
	}
	return Release{}
}

// compare orders two releases by their Kubernetes, and by their numbers where
// the table lacks the Kubernetes of one of them.
func (t Table) compare(a, b Release) int {
	if x, y := t.minor(a), t.minor(b); x > 0 && y > 0 {
		return cmp.Compare(x, y)
	}
	return a.Compare(b)
}

// is tells whether a package of this name is the one that is needed.
func (p Package) is(name string) bool {
	if p.Accepts == "" {
		return name == p.Name
	}
	return regexp.MustCompile("^(?:" + p.Accepts + ")$").MatchString(name)
}

// prefix is what the version has to begin with, "" for any. minor is of
// Kubernetes; 0: not known.
func (p Package) prefix(release Release, minor int) string {
	switch {
	case p.Version == "release" && !release.IsZero():
		return release.String() + "."
	case p.Version == "kubernetes" && minor > 0:
		return fmt.Sprintf("1.%d.", minor)
	}
	return ""
}
