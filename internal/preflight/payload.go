// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PayloadFacts is the input of the checks that need the payload.
type PayloadFacts struct {
	Host  hostinfo.Facts
	Links []hostnet.Link

	Arch              string      // of the OS image; "" if it is unknown
	FIPS              bool        // the payload requires FIPS mode
	KernelArguments   []string    // kernel arguments of the payload
	SetsArguments     bool        // the join or the upgrade sets the kernel arguments
	KernelType        string      // that the payload requires; "" for any
	KernelPackages    string      // of the kernel type; "" if they are unknown
	MissingExtensions []Extension // of the payload
	BootsImage        bool        // the host boots another image, without extensions and kernel type
	MissingUnits      []string    // required units that do not exist, with the package
	MissingPrograms   []Program   // commands of the payload's units
	Packages          error       // nil if the node's packages are or will be installed
	OverlaySize       string      // size limit of a container's writable layer; "" for none
	Storage           FileSystem  // file system of CRI-O's container storage
	FailSwapOn        bool        // the payload's kubelet does not start with swap
	FailCgroupV1      *bool       // of kubelet's configuration; nil: the default of its version
	KubeletMinor      int         // N of the version 1.N of the kubelet that the node will run; 0 if it is unknown
	UnsupportedFlags  []string    // of kubelet's unit, which this kubelet does not support
	// ReadOnlyDirectories are directories of the payload's files in the read-only part of an image.
	ReadOnlyDirectories []string
	LoopbackAddresses   []netip.Addr // addresses that the payload adds to lo
	ClusterDNS          []netip.Addr // of kubelet's configuration; the first one has the first family of the cluster
	NodeAddresses       []netip.Addr // that the node would have with the present addresses of the host; none: unknown
	Networks            NetworkFacts
	Reserved            Resources // CPU and memory that kubelet reserves
	CloudProvider       CloudProvider
	Image               []report.Finding // why the host cannot boot the image of the payload
	Release             []report.Finding // mismatches of kubelet, CRI-O, the payload and the API server
	API                 error            // nil if the API server responds over verified TLS
	Logins              []report.Finding // logins to the host that the payload prevents
	// Nil if the node name is unused, or is the name of this host's Node.
	NodeName error
}

// Program is an executable and its package.
type Program struct {
	Name    string `json:"name"`
	Package string `json:"package"`
}

// Extension is an extension of the operating system, and its packages that are not installed.
type Extension struct {
	Name     string
	Packages []string // nil if they are unknown
}

// SoftwareChecks returns the checks of PayloadChecks that depend on installed packages.
func SoftwareChecks() []Check[PayloadFacts] {
	return slices.DeleteFunc(PayloadChecks(),
		func(c Check[PayloadFacts]) bool { return c.Name != "units" && c.Name != "programs" })
}

// PayloadChecks returns the checks that need the payload.
func PayloadChecks() []Check[PayloadFacts] {
	networks := NetworkCheck()
	return []Check[PayloadFacts]{
		{
			"api", "the API server is reachable and its certificate is valid",
			func(f PayloadFacts) []report.Finding { return findingFromError(f.API) },
		},
		{
			"node-name", "the node name is unused or belongs to this host",
			func(f PayloadFacts) []report.Finding { return findingFromError(f.NodeName) },
		},
		{
			"release", "the release of kubelet and CRI-O matches the payload and the API server",
			func(f PayloadFacts) []report.Finding { return f.Release },
		},
		{
			"image", "the host can boot the image of the payload",
			func(f PayloadFacts) []report.Finding { return f.Image },
		},
		{
			"logins", "those who can log in to the host can still do so with the files of the payload",
			func(f PayloadFacts) []report.Finding { return f.Logins },
		},
		{"payload-architecture", "the payload is for the architecture of the host", checkArchitecture},
		{"fips", "FIPS mode matches that of the cluster", checkFIPS},
		{"cgroup", "the cgroup version matches the payload", checkCgroup},
		{"kernel-type", "the running kernel has the type that the payload requires", checkKernelType},
		{"extensions", "the packages of the payload's extensions are installed", checkExtensions},
		{"units", "every unit that the payload enables exists", checkUnits},
		{"programs", "every binary that the payload's units run is installed", checkPrograms},
		{"read-only", "the directories of the payload are writable", checkReadOnly},
		{"overlay-size", "the file system of CRI-O supports the size limit of the payload", checkOverlaySize},
		{"swap", "kubelet of this release supports the host's swap", checkSwap},
		{"kubelet-flags", "kubelet of this release supports the flags of its unit", checkKubeletFlags},
		{"reservation", "kubelet's reservation leaves enough CPU and memory for pods", checkReservation},
		{"cloud-provider", "the Node does not depend on a cloud controller manager", checkCloudProvider},
		{"address-family", "the node has an address of the cluster's first family", checkAddressFamily},
		{"internal-address", "the internal API address does not overlap a network of the host", checkLoopbackAddresses},
		{
			networks.Name, networks.Description,
			func(f PayloadFacts) []report.Finding { return networks.Find(f.Networks) },
		},
	}
}

func checkArchitecture(f PayloadFacts) []report.Finding {
	return errorIf(f.Arch != "" && f.Arch != f.Host.Arch,
		report.Remedyf("# use the user data of a NodePool whose spec.arch is %s", f.Host.Arch),
		"the payload is for hosts of architecture %s, but this host is %s", f.Arch, f.Host.Arch)
}

func checkFIPS(f PayloadFacts) []report.Finding {
	switch {
	case f.FIPS && !f.Host.FIPS:
		return errorFinding("# reinstall the host in FIPS mode (fips=1); FIPS mode must be enabled at installation time",
			"the cluster runs in FIPS mode, but this host does not")
	case !f.FIPS && f.Host.FIPS:
		return errorFinding("# use a host that is not in FIPS mode, or a NodePool of a FIPS cluster",
			"this host runs in FIPS mode, but the cluster does not")
	}
	return nil
}

// kernelReleases maps kernel types to the releases (uname -r) of their kernels: 5.14.0-570.el9_6.x86_64+rt,
// 5.14.0-284.11.1.rt14.296.el9_2.x86_64 before RHEL 9.3, 5.14.0-570.el9_6.aarch64+64k.
var kernelReleases = map[string]*regexp.Regexp{
	"realtime":  regexp.MustCompile(`\+rt|\.rt\d`),
	"64k-pages": regexp.MustCompile(`\+64k`),
}

// checkKernelType refuses a kernel of another type: a node for real-time workloads would be Ready without
// being able to run them.
func checkKernelType(f PayloadFacts) []report.Finding {
	if f.KernelType == "" || f.KernelType == "default" {
		return nil
	}
	releases := kernelReleases[f.KernelType]
	if releases == nil && f.wasProvisioned() {
		return f.warnUnknown("kernel type " + f.KernelType)
	}
	if releases == nil {
		return errorFinding("# remove spec.kernelType from the MachineConfigs of the NodePool, or use a newer version of "+
			"the agent",
			"the payload requires a kernel of the unknown type %s", f.KernelType)
	}
	if f.isLayeredOnly() {
		return f.refuseLayered("kernel type "+f.KernelType, !f.BootsImage && releases.MatchString(f.Host.Kernel))
	}
	if releases.MatchString(f.Host.Kernel) {
		return nil
	}
	suffix := map[string]string{"realtime": "rt", "64k-pages": "64k"}[f.KernelType]
	remedy := report.Remedyf("dnf install %s # kernel-rt is in the repositories of RHEL for Real Time (rt) "+
		"and NFV (nfv)\n"+
		`grubby --set-default "$(ls -v /boot/vmlinuz-*%s* | tail -n 1)" # then reboot the host and run the command again`,
		f.KernelPackages, suffix)
	return errorFinding(remedy, "the payload requires a kernel of type %s, but this host runs %s", f.KernelType,
		f.Host.Kernel)
}

func checkExtensions(f PayloadFacts) []report.Finding {
	var findings []report.Finding
	for _, extension := range f.MissingExtensions {
		if f.wasProvisioned() && extension.Packages == nil {
			findings = append(findings, f.warnUnknown("extension "+extension.Name)...)
			continue
		}
		if f.isLayeredOnly() {
			findings = append(findings, f.refuseLayered("extension "+extension.Name, false)...)
			continue
		}
		if extension.Packages == nil {
			findings = append(findings,
				errorFinding("# remove the extension from the MachineConfigs of the NodePool, or use a newer version of the agent",
					"the payload requires the unknown extension %s", extension.Name)...)
			continue
		}
		packages := strings.Join(extension.Packages, " ")
		findings = append(findings, errorFinding(report.Remedy("dnf install "+packages),
			"the payload requires the extension %s, but packages are not installed: %s", extension.Name, packages)...)
	}
	return findings
}

// isLayeredOnly reports whether only the first boot of the host installs extensions and kernel types: it runs an image
// of RHEL CoreOS, or boots one.
func (f PayloadFacts) isLayeredOnly() bool { return f.BootsImage || f.Host.Capabilities().HasFirstBoot }

// wasProvisioned reports whether the first boot of RHEL CoreOS may have installed extensions and kernel types.
func (f PayloadFacts) wasProvisioned() bool { return f.isLayeredOnly() && !f.BootsImage }

func (f PayloadFacts) warnUnknown(what string) []report.Finding {
	return warningFinding("rpm-ostree status # lists what the first boot has installed",
		"the payload requires the unknown %s: whether it is installed is not checked", what)
}

// refuseLayered returns a finding if an extension or a kernel type is not installed on RHEL CoreOS.
func (f PayloadFacts) refuseLayered(what string, isInstalled bool) []report.Finding {
	missing := "is not installed on this host"
	if f.BootsImage {
		missing = "would be missing in the image that the host boots next"
	}
	return errorIf(!isInstalled, "# drain the node if it runs pods, and provision the host again with the user data of "+
		"the NodePool; or remove the requirement from its MachineConfigs, or use another NodePool",
		"the payload requires the %s, which %s: only the first boot of RHEL CoreOS installs it", what, missing)
}

func checkUnits(f PayloadFacts) []report.Finding {
	return errorIf(len(f.MissingUnits) > 0, "# install the packages that provide them, then run join again "+
		"(openvswitch.service: openvswitch3.1 or newer from the Fast Datapath repository)",
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
		packages = lists.AppendMissing(packages, program.Package)
	}
	return errorFinding(report.Remedy("dnf install "+strings.Join(packages, " ")+
		" # some packages are in the rhocp repository of the cluster's release"),
		"required binaries are not installed: %s", strings.Join(names, ", "))
}

// checkAddressFamily warns of a Node whose addresses are not of the family of the cluster's services, for example
// because a router or DHCP server has not responded yet: kubelet would register it, and its pods would fail.
func checkAddressFamily(f PayloadFacts) []report.Finding {
	if len(f.ClusterDNS) == 0 || len(f.NodeAddresses) == 0 {
		return nil
	}
	isFirst := func(address netip.Addr) bool { return address.Is4() == f.ClusterDNS[0].Is4() }
	if slices.ContainsFunc(f.NodeAddresses, isFirst) {
		return nil
	}
	family := map[bool]string{true: "IPv4", false: "IPv6"}[f.ClusterDNS[0].Is4()]
	return warningFinding("ip -br address; ip route; ip -6 route",
		"the services of the cluster have %s addresses, but with %s the node would have none", family,
		strings.Join(lists.Map(f.NodeAddresses, netip.Addr.String), ", "))
}

func checkLoopbackAddresses(f PayloadFacts) []report.Finding {
	for _, address := range f.LoopbackAddresses {
		if taken := addressConflict(f.Links, address); taken != "" {
			return errorFinding("# change the range of that network, or set spec.networking.apiServer.advertiseAddress of the "+
				"HostedCluster",
				"the internal API address %s of the cluster is in a network of this host (%s); the node could not reach the API "+
					"server", address, taken)
		}
	}
	return nil
}
