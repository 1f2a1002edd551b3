package preflight

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PayloadFacts is the input of the checks that need the payload.
type PayloadFacts struct {
	Host  hostinfo.Facts
	Links []hostnet.Link

	FIPS              bool         // the payload requires FIPS mode
	KernelArguments   []string     // kernel arguments of the payload
	MissingUnits      []string     // required units that do not exist, with the package
	MissingPrograms   []Program    // commands of the payload's units
	Packages          error        // nil if the node's packages are or will be installed
	OverlaySize       string       // size limit of a container's writable layer; "" for none
	Storage           FileSystem   // file system of CRI-O's container storage
	FailSwapOn        bool         // the payload's kubelet does not start with swap
	LoopbackAddresses []netip.Addr // addresses that the payload adds to lo
	API               error        // nil if the API server responds over verified TLS
	// Nil if the node name is unused, or is the name of this host's Node.
	NodeName error
}

// Program is an executable and its package.
type Program struct {
	Name    string `json:"name"`
	Package string `json:"package"`
}

// SoftwareChecks returns the checks of PayloadChecks that depend on installed packages.
func SoftwareChecks() []Check[PayloadFacts] {
	return slices.DeleteFunc(PayloadChecks(), func(c Check[PayloadFacts]) bool { return c.Name != "units" && c.Name != "programs" })
}

// PayloadChecks returns the checks that need the payload.
func PayloadChecks() []Check[PayloadFacts] {
	return []Check[PayloadFacts]{
		{"api", "the API server answers and its certificate is right", func(f PayloadFacts) []report.Finding { return findingFromError(f.API) }},
		{"node-name", "the node's name is free, or this machine's own", func(f PayloadFacts) []report.Finding { return findingFromError(f.NodeName) }},
		{"fips", "FIPS mode is as the cluster has it", checkFIPS},
		{"cgroup", "the cgroup version is the one that the payload needs", checkCgroup},
		{"units", "every unit that the payload enables exists", checkUnits},
		{"programs", "every program that the payload's units run is installed", checkPrograms},
		{"overlay-size", "CRI-O's file system can limit containers as the payload does", checkOverlaySize},
		{"swap", "kubelet of this release starts with the host's swap", checkSwap},
		{"internal-address", "the API's internal address does not collide with a network of the host", checkLoopbackAddresses},
	}
}

func checkFIPS(f PayloadFacts) []report.Finding {
	switch {
	case f.FIPS && !f.Host.FIPS:
		return errorFinding("# install the host in FIPS mode (fips=1 at installation; it cannot be switched on soundly later)",
			"the cluster runs in FIPS mode and this host does not")
	case !f.FIPS && f.Host.FIPS:
		return errorFinding("# use a host that is not in FIPS mode, or a NodePool of a FIPS cluster",
			"this host runs in FIPS mode and the cluster does not")
	}
	return nil
}

// checkCgroup checks the kernel arguments of the payload. From 4.14 on, payloads request
// cgroup v2 with systemd.unified_cgroup_hierarchy=1.
func checkCgroup(f PayloadFacts) []report.Finding {
	if f.Host.CgroupV2 || !slices.Contains(f.KernelArguments, "systemd.unified_cgroup_hierarchy=1") {
		return nil
	}
	return []report.Finding{{
		Severity:    report.SeverityProblem,
		Message:     "the payload needs cgroup v2 and this host was booted with v1",
		Remedy:      "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1 && reboot # then run join again",
		RefusesJoin: true,
		Code:        report.RebootNeeded,
	}}
}

func checkUnits(f PayloadFacts) []report.Finding {
	if len(f.MissingUnits) == 0 {
		return nil
	}
	return errorFinding("# install the packages that bring them (openvswitch.service: dnf install openvswitch3.1 or newer, from the Fast Datapath repository), then run join again",
		"the payload enables units that do not exist on this host: %s", strings.Join(f.MissingUnits, ", "))
}

func checkPrograms(f PayloadFacts) []report.Finding {
	if f.Packages != nil {
		return findingFromError(f.Packages)
	}
	if len(f.MissingPrograms) == 0 {
		return nil
	}
	var names, packages []string
	for _, program := range f.MissingPrograms {
		names = append(names, program.Name)
		if !slices.Contains(packages, program.Package) {
			packages = append(packages, program.Package)
		}
	}
	return errorFinding(report.Remedy("dnf install "+strings.Join(packages, " ")+" # some are in the rhocp repository of the cluster's release"),
		"programs that a node needs are not installed: %s", strings.Join(names, ", "))
}

func checkSwap(f PayloadFacts) []report.Finding {
	if len(f.Host.Swap) == 0 {
		return nil
	}
	devices := strings.Join(f.Host.Swap, ", ")
	if f.FailSwapOn {
		return errorFinding("swapoff -a # and remove the swap lines from /etc/fstab", "swap is on (%s); kubelet of this release does not start with it", devices)
	}
	return warningFinding("", "swap is on (%s); kubelet of this release tolerates it", devices)
}

func checkLoopbackAddresses(f PayloadFacts) []report.Finding {
	for _, address := range f.LoopbackAddresses {
		if taken := addressConflict(f.Links, address); taken != "" {
			return errorFinding("# give that network another range, or set spec.networking.apiServer.advertiseAddress of the HostedCluster",
				"the cluster's internal API address %s lies in a network of this host (%s); the node would not reach the API", address, taken)
		}
	}
	return nil
}
