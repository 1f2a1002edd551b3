package packages

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Facts is what is decided from.
type Facts struct {
	OS   host.OSRelease
	Arch string // as Go names it

	Release      Release // of the NodePool, as an administrator said; zero: not known
	ControlPlane Release // the newest that has the API server's Kubernetes; zero: not known

	Installed    []dnf.Package
	Repositories []dnf.Repository
	Available    []dnf.Package // what enabled repositories have
	Hidden       []dnf.Package // the same, with what module streams hide
	Asked        bool          // whether they were asked
	Silent       string        // why not, when they should have been
	Programs     []string      // that are on the host, of those that the table names
	Subscription Subscription
	Install      bool            // what is missing will be installed
	Commands     map[string]bool // that the payload runs; true: in a unit
}

// Subscription is how a host gets RHEL's repositories.
type Subscription string

// The subscriptions.
const (
	NoSubscription Subscription = ""             // there is no subscription-manager: a mirror, or another distribution
	Unregistered   Subscription = "unregistered" // there is one, and it knows no system
	Registered     Subscription = "registered"
)

// RHEL is the major version of a host that is RHEL or like it; 0 for others.
func RHEL(os host.OSRelease) int {
	if os.ID != "rhel" && !slices.Contains(os.Like, "rhel") {
		return 0
	}
	major, _, _ := strings.Cut(os.Version, ".")
	number, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return number
}

// arch is the processor as rpm names it.
func (f Facts) arch() string {
	switch f.Arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return f.Arch
}

// has tells whether a package that meets a need is installed: it, or another
// that the table knows for the same program, as a kubelet of another release.
func (f Facts) has(need Package, table Table) bool {
	return slices.ContainsFunc(f.Installed, func(p dnf.Package) bool {
		return need.is(p.Name) || slices.ContainsFunc(table.Packages, func(other Package) bool {
			return need.Program != "" && other.Program == need.Program && other.is(p.Name)
		})
	})
}

// kubelet is the release of the installed kubelet; zero when there is none, or
// its version says nothing.
func (f Facts) kubelet() Release {
	for _, p := range f.Installed {
		if p.Name == "openshift-kubelet" || p.Name == "openshift-hyperkube" {
			release, _ := ParseRelease(p.Version) // an unreadable one is as good as none
			return release
		}
	}
	return Release{}
}

// crio is the minor version of the installed CRI-O; 0 when there is none.
func (f Facts) crio() int {
	for _, p := range f.Installed {
		if p.Name == "cri-o" {
			return minorOf(p.Version)
		}
	}
	return 0
}

// minorOf gives 31 of 1.31.4.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return minor
}

// fits tells whether a package can be installed on this host at all.
func (f Facts) fits(p dnf.Package) bool {
	if p.Arch != f.arch() && p.Arch != "noarch" {
		return false
	}
	el := builtFor(p)
	return el == 0 || el == RHEL(f.OS)
}

var elTag = regexp.MustCompile(`\.el(\d+)`)

// builtFor is the major version of RHEL that a package's release names, as
// 2.rhaos4.18.el9 does; 0 when it names none.
func builtFor(p dnf.Package) int {
	match := elTag.FindStringSubmatch(p.Release)
	if match == nil {
		return 0
	}
	major, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	return major
}

// repository tells whether dnf knows a repository, and whether it is enabled.
func (f Facts) repository(id string) (known, enabled bool) {
	for _, r := range f.Repositories {
		if r.ID == id {
			return true, r.Enabled
		}
	}
	return false, false
}
