package preflight

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// HostFacts is what the checks before the payload look at.
type HostFacts struct {
	Host     host.Facts
	Systemd  error                     // nil when the service manager answers
	Units    map[string]host.UnitState // of the services that matter here
	Endpoint error                     // nil when the ignition server answers over verified TLS
	Skew     time.Duration             // the server's clock minus ours; 0 when unknown
	Name     error                     // nil when the host name can be a node's name
	Uplink   error                     // nil when br-ex can be built, or is there
	Links    []host.Link
	Ports    []Port // of those that a node needs, which somebody holds
	Foreign  error  // what is here of another cluster
}

// MaxSkew is how far the clocks may be apart: certificates are issued with a
// few minutes of tolerance and tokens are checked against the server's clock.
const MaxSkew = 2 * time.Minute

// Host lists the checks that need no payload.
func Host() []Check[HostFacts] {
	return []Check[HostFacts]{
		{"root", "the agent runs as root", checkRoot},
		{"systemd", "the service manager answers", checkSystemd},
		{"os", "the distribution is RHEL or like it", checkOS},
		{"architecture", "there are OpenShift packages for this processor", checkArch},
		{"image-mode", "files and packages can be changed", checkImageMode},
		{"hostname", "the host name can be the node's name", func(f HostFacts) []Finding { return failAs(f.Name) }},
		{"memory", "there is memory for a worker", checkMemory},
		{"disk", "there is room in /var/lib", checkDisk},
		{"selinux", "SELinux protects the containers", checkSELinux},
		{"networkmanager", "NetworkManager runs", checkNetworkManager},
		{"uplink", "the uplink can be moved into br-ex", func(f HostFacts) []Finding { return failAs(f.Uplink) }},
		{"mtu", "packets are large enough for an overlay", checkMTU},
		{"firewall", "no firewall service rewrites the rules of the cluster network", checkFirewall},
		{"fapolicyd", "programs of containers may be executed", checkFapolicyd},
		{"ports", "the ports of a node are free", checkPorts},
		{"other-cluster", "the host is not a node of another cluster", func(f HostFacts) []Finding { return failAs(f.Foreign) }},
		{"endpoint", "the ignition server answers and its certificate is right", func(f HostFacts) []Finding { return failAs(f.Endpoint) }},
		{"clock", "the clock agrees with the ignition server's", checkClock},
	}
}

func checkRoot(f HostFacts) []Finding {
	if f.Host.Root {
		return nil
	}
	return fail("# run the same command with sudo", "the agent does not run as root")
}

func checkSystemd(f HostFacts) []Finding {
	if f.Systemd == nil {
		return nil
	}
	return fail("# run the agent on the host itself, not in a container", "%v", f.Systemd)
}

func checkOS(f HostFacts) []Finding {
	os := f.Host.OS
	major, _, _ := strings.Cut(os.Version, ".")
	like := os.ID == "rhel" || os.ID == "rhcos" || slices.Contains(os.Like, "rhel")
	if like && slices.Contains([]string{"8", "9", "10"}, major) {
		return nil
	}
	return warn("", "%s is not RHEL 8, 9 or 10; OpenShift has no packages for it and nobody supports such a node", os.Name)
}

func checkArch(f HostFacts) []Finding {
	if f.Host.Arch == "amd64" || f.Host.Arch == "arm64" {
		return nil
	}
	return fail("", "NodePools of platform None are amd64 or arm64, this host is %s", f.Host.Arch)
}

func checkImageMode(f HostFacts) []Finding {
	if !f.Host.OSTree {
		return nil
	}
	return fail("hcp-node-agent status", "this is an image-mode host, which its own ignition or image configures; the agent only checks and reports here")
}

func checkMemory(f HostFacts) []Finding {
	const least = 1 << 20 // KiB; kubelet reserves 1 GiB for the system by default
	if f.Host.MemoryKiB >= least*15/10 {
		return nil
	}
	return warn("", "the host has %d MiB of memory; the payload reserves 1024 MiB for the system, little is left for pods", f.Host.MemoryKiB/1024)
}

func checkDisk(f HostFacts) []Finding {
	const least = 5 << 20 // KiB: the release's node images are several GB
	if f.Host.DiskFree >= least {
		return nil
	}
	return warn("", "/var/lib has %d MiB free; the images of a worker need several GiB", f.Host.DiskFree/1024)
}

func checkSELinux(f HostFacts) []Finding {
	if f.Host.SELinux == "enforcing" {
		return nil
	}
	return warn("", "SELinux is %s; OpenShift expects it to be enforcing", f.Host.SELinux)
}

func checkNetworkManager(f HostFacts) []Finding {
	if f.Units["NetworkManager.service"].Active == "active" {
		return nil
	}
	return fail("systemctl enable --now NetworkManager", "NetworkManager does not run; br-ex is built through it")
}

func checkMTU(f HostFacts) []Finding {
	var found []Finding
	for _, link := range f.Links {
		if len(link.Addresses) > 0 && link.MTU < 1280 && link.Name != "lo" {
			found = append(found, warn("", "%s has an MTU of %d; IPv6 needs 1280 and the overlay takes 100 of it", link.Name, link.MTU)...)
		}
	}
	return found
}

func checkFirewall(f HostFacts) []Finding {
	if f.Units["firewalld.service"].Active != "active" {
		return nil
	}
	return warn("systemctl disable --now firewalld",
		"firewalld runs; it drops the cluster network's packets unless its rules are made for it")
}

func checkFapolicyd(f HostFacts) []Finding {
	if f.Units["fapolicyd.service"].Active != "active" {
		return nil
	}
	return warn("systemctl disable --now fapolicyd", "fapolicyd runs; it refuses programs of containers that no RPM owns")
}

// checkPorts takes a port whose rightful service runs for that service's: a
// kubelet of another cluster is another check's finding.
func checkPorts(f HostFacts) []Finding {
	var taken []string
	for _, port := range f.Ports {
		if f.Units[port.Service].Active != "active" && f.Units[port.Service].Active != "activating" {
			taken = append(taken, port.String())
		}
	}
	if len(taken) == 0 {
		return nil
	}
	return fail("ss -lntup # shows who holds them", "ports that a node needs are in use: %s", strings.Join(taken, ", "))
}

func checkClock(f HostFacts) []Finding {
	if math.Abs(f.Skew.Seconds()) <= MaxSkew.Seconds() {
		return nil
	}
	how := "behind"
	if f.Skew < 0 {
		how = "ahead of"
	}
	return fail("chronyc makestep # or: timedatectl set-ntp true",
		"this host's clock is %s %s the ignition server's; certificates and tokens will not be accepted", f.Skew.Abs().Round(time.Second), how)
}

// conflict tells whether address is in use on a link other than lo.
func conflict(links []host.Link, address netip.Addr) string {
	for _, link := range links {
		for _, prefix := range link.Addresses {
			if link.Name != "lo" && prefix.Masked().Contains(address) && prefix.Bits() > 0 {
				return link.Name + " " + prefix.String()
			}
		}
	}
	return ""
}
