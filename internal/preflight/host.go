package preflight

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostFacts is the input of the checks that do not need the payload.
type HostFacts struct {
	Host         hostinfo.Facts
	Systemd      error                        // nil if the service manager responds
	Units        map[string]systemd.UnitState // states of the services in the checks
	Endpoint     error                        // nil if the ignition server responds over verified TLS
	ClockSkew    time.Duration                // server clock minus host clock; 0 if unknown
	NodeName     error                        // nil if the host name is a valid node name
	Uplink       error                        // nil if br-ex exists or can be created
	Links        []hostnet.Link
	Ports        []Port // node ports in use by other processes
	OtherCluster error  // state of another cluster on this host
}

// maxSkew is the maximum difference of the clocks. Certificates have a tolerance of a few
// minutes, and tokens are checked against the server's clock.
const maxSkew = 2 * time.Minute

// HostChecks returns the checks that do not need the payload.
func HostChecks() []Check[HostFacts] {
	return []Check[HostFacts]{
		{"root", "the agent runs as root", checkRoot},
		{"systemd", "the service manager answers", checkSystemd},
		{"os", "the distribution is RHEL or like it", checkOS},
		{"architecture", "there are OpenShift packages for this processor", checkArch},
		{"image-mode", "files and packages can be changed", checkImageMode},
		{"hostname", "the host name can be the node's name", func(f HostFacts) []report.Finding { return findingFromError(f.NodeName) }},
		{"memory", "there is memory for a worker", checkMemory},
		{"disk", "there is room in /var/lib", checkDisk},
		{"selinux", "SELinux protects the containers", checkSELinux},
		{"networkmanager", "NetworkManager runs", checkNetworkManager},
		{"uplink", "the uplink can be moved into br-ex", func(f HostFacts) []report.Finding { return findingFromError(f.Uplink) }},
		{"mtu", "packets are large enough for an overlay", checkMTU},
		{"firewall", "no firewall service rewrites the rules of the cluster network", checkFirewall},
		{"fapolicyd", "programs of containers may be executed", checkFapolicyd},
		{"ports", "the ports of a node are free", checkPorts},
		{"other-cluster", "the host is not a node of another cluster", func(f HostFacts) []report.Finding { return findingFromError(f.OtherCluster) }},
		{"endpoint", "the ignition server answers and its certificate is right", func(f HostFacts) []report.Finding { return findingFromError(f.Endpoint) }},
		{"clock", "the clock agrees with the ignition server's", checkClock},
	}
}

func checkRoot(f HostFacts) []report.Finding {
	if f.Host.Root {
		return nil
	}
	return errorFinding("# run the same command with sudo", "the agent does not run as root")
}

func checkSystemd(f HostFacts) []report.Finding {
	if f.Systemd == nil {
		return nil
	}
	return errorFinding("# run the agent on the host itself, not in a container", "%v", f.Systemd)
}

func checkOS(f HostFacts) []report.Finding {
	os := f.Host.OS
	major, _, _ := strings.Cut(os.Version, ".")
	like := os.ID == "rhel" || os.ID == "rhcos" || slices.Contains(os.Like, "rhel")
	if like && slices.Contains([]string{"8", "9", "10"}, major) {
		return nil
	}
	return warningFinding("", "%s is not RHEL 8, 9 or 10; OpenShift has no packages for it and nobody supports such a node", os.Name)
}

func checkArch(f HostFacts) []report.Finding {
	if f.Host.Arch == "amd64" || f.Host.Arch == "arm64" {
		return nil
	}
	return errorFinding("", "NodePools of platform None are amd64 or arm64, this host is %s", f.Host.Arch)
}

func checkImageMode(f HostFacts) []report.Finding {
	if !f.Host.OSTree {
		return nil
	}
	return errorFinding("hcp-node-agent status", "this is an image-mode host, which its own ignition or image configures; the agent only checks and reports here")
}

func checkMemory(f HostFacts) []report.Finding {
	const least = 1 << 20 // KiB; by default kubelet reserves 1 GiB for the system
	if f.Host.MemoryKiB >= least*15/10 {
		return nil
	}
	return warningFinding("", "the host has %d MiB of memory; the payload reserves 1024 MiB for the system, little is left for pods", f.Host.MemoryKiB/1024)
}

func checkDisk(f HostFacts) []report.Finding {
	const least = 5 << 20 // KiB: the node images of a release have several GB
	if f.Host.DiskFree >= least {
		return nil
	}
	return warningFinding("", "/var/lib has %d MiB free; the images of a worker need several GiB", f.Host.DiskFree/1024)
}

func checkSELinux(f HostFacts) []report.Finding {
	if f.Host.SELinux == "enforcing" {
		return nil
	}
	return warningFinding("", "SELinux is %s; OpenShift expects it to be enforcing", f.Host.SELinux)
}

func checkNetworkManager(f HostFacts) []report.Finding {
	if f.Units["NetworkManager.service"].Active == "active" {
		return nil
	}
	return errorFinding("systemctl enable --now NetworkManager", "NetworkManager does not run; br-ex is built through it")
}

func checkMTU(f HostFacts) []report.Finding {
	var found []report.Finding
	for _, link := range f.Links {
		if len(link.Addresses) > 0 && link.MTU < 1280 && link.Name != "lo" {
			found = append(found, warningFinding("", "%s has an MTU of %d; IPv6 needs 1280 and the overlay takes 100 of it", link.Name, link.MTU)...)
		}
	}
	return found
}

func checkFirewall(f HostFacts) []report.Finding {
	if f.Units["firewalld.service"].Active != "active" {
		return nil
	}
	return warningFinding("systemctl disable --now firewalld",
		"firewalld runs; it drops the cluster network's packets unless its rules are made for it")
}

func checkFapolicyd(f HostFacts) []report.Finding {
	if f.Units["fapolicyd.service"].Active != "active" {
		return nil
	}
	return warningFinding("systemctl disable --now fapolicyd", "fapolicyd runs; it refuses programs of containers that no RPM owns")
}

// checkPorts assumes that a port is held by its service if that service is running. A
// kubelet of another cluster is the finding of another check.
func checkPorts(f HostFacts) []report.Finding {
	var taken []string
	for _, port := range f.Ports {
		if f.Units[port.Service].Active != "active" && f.Units[port.Service].Active != "activating" {
			taken = append(taken, port.String())
		}
	}
	if len(taken) == 0 {
		return nil
	}
	return errorFinding("ss -lntup # shows who holds them", "ports that a node needs are in use: %s", strings.Join(taken, ", "))
}

func checkClock(f HostFacts) []report.Finding {
	if math.Abs(f.ClockSkew.Seconds()) <= maxSkew.Seconds() {
		return nil
	}
	how := "behind"
	if f.ClockSkew < 0 {
		how = "ahead of"
	}
	return errorFinding("chronyc makestep # or: timedatectl set-ntp true",
		"this host's clock is %s %s the ignition server's; certificates and tokens will not be accepted", f.ClockSkew.Abs().Round(time.Second), how)
}

// addressConflict returns the link and prefix that contain address, or "". It ignores lo.
func addressConflict(links []hostnet.Link, address netip.Addr) string {
	for _, link := range links {
		for _, prefix := range link.Addresses {
			if link.Name != "lo" && prefix.Masked().Contains(address) && prefix.Bits() > 0 {
				return link.Name + " " + prefix.String()
			}
		}
	}
	return ""
}
