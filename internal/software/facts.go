// SPDX-License-Identifier: Apache-2.0

package software

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Facts is the input of Decide.
type Facts struct {
	OS      hostinfo.OSRelease
	Arch    string // in Go's notation
	Managed bool   // the agent checks and installs the packages of this host
	// ImageMode means that the software of the node belongs to the image of the host.
	ImageMode bool
	Table     Table

	Requested Release   // by the administrator; zero: none
	Contents  *Contents // of the OS image of the payload; nil if they are unknown
	Source    string    // of the packages that the OS image contains: a value of config.Join.Software
	// BeforePayload means that the payload was not fetched yet.
	BeforePayload bool
	Versions      Versions // of the API server, and of the binaries that are installed

	Installed    []dnf.Package
	Repositories []dnf.Repository
	Available    []dnf.Package // packages of enabled repositories
	Hidden       []dnf.Package // the same, including packages hidden by module streams
	Queried      bool          // the repositories were queried
	QueryError   string        // error of a failed query
	DNF5         bool          // dnf is dnf5, whose plugin config-manager has other arguments
	Programs     []string      // programs of the table that exist on the host
	Subscription Subscription
	Install      bool            // missing packages will be installed
	Replace      bool            // an upgrade: packages of another release will be replaced
	Commands     map[string]bool // commands that the payload runs; true: in a unit

	MissingPrograms []string   // binaries that the host lacks, if it is not managed
	Unpacked        []Unpacked // packages of OS images at their usual paths
}

// Unpacked is a package that was unpacked from an OS image and put at its usual paths.
type Unpacked struct {
	Name, Version string
	Incomplete    bool // an interrupted run may have put only some files at their paths
}

// release returns the release of the payload, or the requested one; zero if both are unknown.
func (f Facts) release() Release {
	if f.Contents != nil {
		return f.Contents.Release
	}
	return f.Requested
}

// Subscription describes how a host gets RHEL's repositories.
type Subscription string

// The subscriptions.
const (
	// NoSubscription means that subscription-manager is not installed: the host uses a
	// mirror or is another distribution.
	NoSubscription Subscription = ""
	Unregistered   Subscription = "unregistered" // subscription-manager has no registered system
	Registered     Subscription = "registered"
)

// RHEL returns the major version of RHEL or of a compatible distribution, and 0 for others.
func RHEL(os hostinfo.OSRelease) int {
	if os.ID != "rhel" && !slices.Contains(os.Like, "rhel") {
		return 0
	}
	return majorVersion(os.Version)
}

// majorVersion returns 9 for 9.6, and 0 if the version cannot be parsed.
func majorVersion(version string) int {
	major, _, _ := strings.Cut(version, ".")
	number, _ := strconv.Atoi(major) // 0 if it is no number
	return number
}

// arch returns the architecture in rpm's notation.
func (f Facts) arch() string {
	switch f.Arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return f.Arch
}

// isInstalled reports whether a package that meets a need is installed. Another package of the
// table with the same program is sufficient, such as a kubelet of another release.
func (f Facts) isInstalled(need Package) bool {
	return slices.ContainsFunc(f.Installed, func(p dnf.Package) bool {
		return need.matches(p.Name) || slices.ContainsFunc(f.Table.Packages, func(other Package) bool {
			return need.Program != "" && other.Program == need.Program && other.matches(p.Name)
		})
	})
}

// isUnpacked reports whether a package that meets a need was unpacked from an OS image.
func (f Facts) isUnpacked(need Package) bool {
	return slices.ContainsFunc(f.Unpacked, func(p Unpacked) bool { return !p.Incomplete && need.matches(p.Name) })
}

// kubeletRelease returns the release of the installed kubelet. It is zero if there is none, or if
// the version cannot be parsed.
func (f Facts) kubeletRelease() Release {
	kubelet := lists.Find(f.Installed, func(p dnf.Package) bool {
		return p.Name == "openshift-kubelet" || p.Name == "openshift-hyperkube"
	})
	release, _ := ParseRelease(kubelet.Version) // zero if the version cannot be parsed
	return release
}

// isInstallable reports whether the architecture and RHEL version of a package match this host.
func (f Facts) isInstallable(p dnf.Package) bool {
	if p.Arch != f.arch() && p.Arch != "noarch" {
		return false
	}
	el := builtForRHEL(p)
	return el == 0 || el == RHEL(f.OS)
}

var elTag = regexp.MustCompile(`\.el(\d+)`)

// builtForRHEL returns the major version of RHEL in a package's release, such as
// 2.rhaos4.18.el9. It returns 0 if there is none.
func builtForRHEL(p dnf.Package) int {
	match := elTag.FindStringSubmatch(p.Release)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(match[1]) // digits
	return major
}

// repositoryState reports whether dnf has a repository, and whether the repository is enabled.
func (f Facts) repositoryState(id string) (known, enabled bool) {
	repository := lists.Find(f.Repositories, func(r dnf.Repository) bool { return r.ID == id })
	return repository.ID != "", repository.Enabled
}
