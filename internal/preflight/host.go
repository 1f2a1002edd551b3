// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostFacts is the input of the checks that do not need the payload.
type HostFacts struct {
	Host                hostinfo.Facts
	Systemd             error                        // nil if the service manager responds
	Units               map[string]systemd.UnitState // states of the services in the checks
	Endpoint            error                        // nil if the ignition server accepts the token over verified TLS
	EndpointTemporary   error                        // of the ignition server, which the fetch step of a join retries
	ClockSkew           time.Duration                // server clock minus host clock; 0 if unknown
	NodeName            error                        // nil if the host name is a valid node name
	Uplink              error                        // nil if br-ex exists or can be created
	UplinkWarnings      []report.Finding             // configuration of the host that does not apply to br-ex
	Links               []hostnet.Link
	Paths               []KnownPath       // to the required endpoints
	Sockets             []hostinfo.Socket // of the ports of a node
	Firewall            *firewalld.Zone   // zone of the uplink; nil if firewalld does not run or is unknown
	ClockUnsynchronized bool              // no time service keeps the clock synchronized
	OtherCluster        error             // state of another cluster on this host
	Leftovers           error             // files of another cluster on this host
	KubeletDirectory    string            // the real path of kubelet's directory
	DanglingLinks       []string          // directories of a node that are links to what does not exist
	DisabledModules     []string          // modules of a node that the configuration of modprobe disables

	// StartNetworkManager starts NetworkManager without loss of the host's addresses. It is "" if that is not known.
	StartNetworkManager report.Remedy

	Deployments      *deployment.Status // nil in package mode, or if they are unknown
	DeploymentsError error              // why they are unknown
}

// KnownPath is the MTU of the path to an endpoint, as far as the kernel has learned it.
type KnownPath struct {
	Endpoint string // as in messages: "the API server"
	MTU      int
	Link     string // the uplink
	LinkMTU  int
}

// maxSkew is the maximum difference of the clocks. Certificates have a tolerance of a few
// minutes, and tokens are checked against the server's clock.
const maxSkew = 2 * time.Minute

// HostChecks returns the checks that do not need the payload.
func HostChecks() []Check[HostFacts] {
	return []Check[HostFacts]{
		{"root", "the agent runs as root", checkRoot},
		{"systemd", "systemd responds", checkSystemd},
		{"os", "the distribution is RHEL or compatible", checkOS},
		{"architecture", "OpenShift packages exist for this architecture", checkArch},
		{"image-mode", "the image of the host permits a join", checkImageMode},
		{
			"hostname", "the host name is a valid node name",
			func(f HostFacts) []report.Finding { return findingFromError(f.NodeName) },
		},
		{"resources", "the host has enough CPUs and memory for a worker", checkResources},
		{"disk", "/var/lib has enough free space", checkDisk},
		{"kubelet-directory", "no symbolic link leads to kubelet's directory", checkKubeletDirectory},
		{"selinux", "SELinux is enforcing", checkSELinux},
		{"modules", "the kernel modules of a node are not disabled", checkModules},
		{"networkmanager", "NetworkManager is running", checkNetworkManager},
		{
			"uplink", "the uplink can be attached to br-ex",
			func(f HostFacts) []report.Finding { return findingFromError(f.Uplink) },
		},
		{
			"uplink-rules", "what the host configures for the uplink also applies to br-ex",
			func(f HostFacts) []report.Finding { return f.UplinkWarnings },
		},
		{"mtu", "the MTU is large enough for an overlay network", checkMTU},
		{"firewall", "no firewall service interferes with the cluster network", checkFirewall},
		{"fapolicyd", "container binaries can be executed", checkFapolicyd},
		{"ports", "the ports of a node are unused", checkPorts},
		{
			"other-cluster", "the host is not a node of another cluster",
			func(f HostFacts) []report.Finding { return findingFromError(f.OtherCluster) },
		},
		{
			"leftovers", "the host has no files of another cluster",
			func(f HostFacts) []report.Finding { return findingFromError(f.Leftovers) },
		},
		{
			"endpoint", "the ignition server is reachable, its certificate is valid, and it accepts the token",
			func(f HostFacts) []report.Finding { return findingFromError(f.Endpoint) },
		},
		{"clock", "the clock is synchronized and matches that of the ignition server", checkClock},
	}
}

func checkRoot(f HostFacts) []report.Finding {
	return errorIf(!f.Host.Root, "# rerun the command with sudo", "the agent is not running as root")
}

func checkSystemd(f HostFacts) []report.Finding {
	return errorIf(f.Systemd != nil, "# run the agent on the host itself, not in a container", "%v", f.Systemd)
}

func checkOS(f HostFacts) []report.Finding {
	os := f.Host.OS
	major, _, _ := strings.Cut(os.Version, ".")
	like := os.ID == "rhel" || os.ID == "rhcos" || slices.Contains(os.Like, "rhel")
	if like && slices.Contains([]string{"8", "9", "10"}, major) {
		return nil
	}
	return warningFinding("", "unsupported distribution %s: OpenShift packages exist for RHEL 8, 9 and 10", os.Name)
}

func checkArch(f HostFacts) []report.Finding {
	return errorIf(f.Host.Arch != "amd64" && f.Host.Arch != "arm64", "# use a host with one of these architectures",
		"unsupported architecture %s: NodePools of platform None require amd64 or arm64", f.Host.Arch)
}

func checkDisk(f HostFacts) []report.Finding {
	const least = 5 << 20 // KiB: the node images of a release have several GB
	if f.Host.DiskFree >= least {
		return nil
	}
	return warningFinding("df -h /var/lib # extend its file system",
		"/var/lib has %.1f GiB of free space; the images of a worker require at least 5 GiB, 50 GiB are recommended",
		float64(f.Host.DiskFree)/(1<<20))
}

func checkSELinux(f HostFacts) []report.Finding {
	if f.Host.SELinux == "enforcing" {
		return nil
	}
	remedy := report.Remedy("setenforce 1 # also set SELINUX=enforcing in /etc/selinux/config")
	if f.Host.SELinux != "permissive" {
		remedy = "# set SELINUX=enforcing in /etc/selinux/config, request labels for all files (touch /.autorelabel) and " +
			"reboot before the join"
	}
	return warningFinding(remedy, "SELinux is %s; OpenShift requires enforcing mode", f.Host.SELinux)
}

func checkModules(f HostFacts) []report.Finding {
	return errorIf(len(f.DisabledModules) > 0,
		report.Remedyf("grep -rE '^install (%s) ' /etc/modprobe.d /usr/lib/modprobe.d # remove these lines",
			strings.Join(f.DisabledModules, "|")),
		"the configuration of modprobe disables kernel modules that a node requires: %s",
		strings.Join(f.DisabledModules, ", "))
}

func checkNetworkManager(f HostFacts) []report.Finding {
	remedy := cmp.Or(f.StartNetworkManager, "systemctl enable --now NetworkManager")
	return errorIf(f.Units[systemd.NetworkManagerUnit].Active != "active", remedy,
		"NetworkManager is not running; it is required for br-ex")
}

func checkMTU(f HostFacts) []report.Finding {
	var found []report.Finding
	for _, link := range f.Links {
		if len(link.Addresses) > 0 && link.MTU < 1280 && link.Name != "lo" {
			found = append(found,
				warningFinding("nmcli device show # set the MTU in the interface's connection: nmcli connection modify NAME "+
					"802-3-ethernet.mtu 1500",
					"%s has an MTU of %d; IPv6 requires 1280, and the overlay network uses 100 bytes", link.Name, link.MTU)...)
		}
	}
	for _, p := range f.Paths {
		if p.MTU < p.LinkMTU {
			found = append(found, report.Findingf(report.SeverityNote, "",
				"the path to %s carries packets of %d bytes, but the MTU of %s is %d: if the paths to other nodes are as narrow, "+
					"the pod MTU of the cluster must be at most %d", p.Endpoint, p.MTU, p.Link, p.LinkMTU, p.MTU-100))
		}
	}
	return found
}

func checkFapolicyd(f HostFacts) []report.Finding {
	if f.Units["fapolicyd.service"].Active != "active" {
		return nil
	}
	return warningFinding("# allow the directories of containers, if your policy permits it (docs/hardened-hosts.md):\n"+
		`printf 'allow perm=any all : dir=%s\n' /var/lib/containers/ /var/lib/cni/bin/ `+
		`>/etc/fapolicyd/rules.d/25-hcp-node-agent.rules`+"\n"+
		"fagenrules --load\nfapolicyd-cli --list # prints the rules in force",
		"fapolicyd is running; it blocks container binaries that no RPM owns")
}

func checkClock(f HostFacts) []report.Finding {
	switch {
	case f.ClockSkew.Abs() > maxSkew:
		how := "behind"
		if f.ClockSkew < 0 {
			how = "ahead of"
		}
		return errorFinding("chronyc makestep # or: timedatectl set-ntp true",
			"this host's clock is %s %s the ignition server's; certificates will be rejected",
			f.ClockSkew.Abs().Round(time.Second), how)
	case f.ClockUnsynchronized:
		return warningFinding("systemctl enable --now chronyd\nchronyc tracking # the source and the offset of the clock",
			"no time service has synchronized this host's clock; if it drifts, certificates will be rejected")
	}
	return nil
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

// GetUnits returns the systemd states of the services in the checks.
func GetUnits(ctx context.Context, reader systemd.Reader) (map[string]systemd.UnitState, error) {
	units := map[string]systemd.UnitState{}
	for _, name := range []string{
		systemd.NetworkManagerUnit, "firewalld.service", "fapolicyd.service", systemd.KubeletUnit, systemd.CRIOUnit,
		openvswitch.Unit, bootCompleteUnit,
	} {
		state, err := reader.UnitState(ctx, name)
		if err != nil {
			return nil, err
		}
		units[name] = state
	}
	return units, nil
}

// RequiredPrograms returns the executables that every node requires and no payload contains.
func RequiredPrograms() []Program {
	return []Program{
		{"kubelet", "openshift-kubelet"},
		{"crio", "cri-o"},
		{"conmon", "conmon"},
		{"runc", "runc"},
		{"ovs-vsctl", "openvswitch3.1"},
		{"ip", "iproute"},
		{"mount", "util-linux"},
		{"modprobe", "kmod"},
	}
}

// MissingPrograms returns the programs that are not installed. The payload's default container
// runtime replaces runc if runtime is set. more contains the programs that the payload's
// units run.
func MissingPrograms(runtime string, more []Program) []Program {
	var missing []Program
	for _, program := range slices.Concat(RequiredPrograms(), more) {
		if program.Name == "runc" && runtime != "" {
			program = Program{runtime, runtime}
		}
		isListed := slices.ContainsFunc(missing, func(m Program) bool { return m.Name == program.Name })
		if !isListed && !command.Exists(program.Name) {
			missing = append(missing, program)
		}
	}
	return missing
}
