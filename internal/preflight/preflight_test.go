// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func goodHost() HostFacts {
	return HostFacts{
		Host: hostinfo.Facts{
			Root: true, Arch: "amd64", OS: hostinfo.OSRelease{ID: "rhel", Version: "9.6", Name: "Red Hat Enterprise Linux 9.6"},
			CPUs: 2, MemoryKiB: 8 << 20, DiskFree: 40 << 20, SELinux: "enforcing",
		},
		Units: map[string]systemd.UnitState{"NetworkManager.service": {Active: "active"}},
	}
}

func TestHostChecks(t *testing.T) {
	if result := Run(HostChecks(), goodHost()); len(result.Findings) != 0 || result.Err() != nil {
		t.Fatalf("a good host has findings: %+v", result.Findings)
	}
	for name, test := range map[string]struct {
		spoil func(*HostFacts)
		check string
		code  report.Code
	}{
		"not root":       {func(f *HostFacts) { f.Host.Root = false }, "root", report.Refused},
		"in a container": {func(f *HostFacts) { f.Systemd = systemd.ErrUnreachable }, "systemd", report.Refused},
		"s390x":          {func(f *HostFacts) { f.Host.Arch = "s390x" }, "architecture", report.Refused},
		"no NM":          {func(f *HostFacts) { f.Units = nil }, "networkmanager", report.Refused},
		"ports": {
			func(f *HostFacts) { f.Sockets = []hostinfo.Socket{tcpSocket("0.0.0.0:10250")} }, "ports", report.Refused,
		},
		"modules":     {func(f *HostFacts) { f.DisabledModules = []string{"overlay"} }, "modules", report.Refused},
		"late clock":  {func(f *HostFacts) { f.ClockSkew = 3 * time.Minute }, "clock", report.Refused},
		"early clock": {func(f *HostFacts) { f.ClockSkew = -3 * time.Minute }, "clock", report.Refused},
		"bad token": {func(f *HostFacts) {
			f.Endpoint = report.Fail(report.CredentialRefused, "get a new user data", "the token was refused")
		}, "endpoint", report.CredentialRefused},
		"name": {func(f *HostFacts) { f.NodeName = errors.New("localhost") }, "hostname", report.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			facts := goodHost()
			test.spoil(&facts)
			result := Run(HostChecks(), facts)
			if len(result.Findings) != 1 || result.Findings[0].Check != test.check {
				t.Fatalf("findings %+v", result.Findings)
			}
			if code := report.CodeOf(result.Err()); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
		})
	}
}

// summary returns the summary of the host checks with the findings.
func summary(findings string) string {
	return fmt.Sprintf("%d checks, %s", len(HostChecks()), findings)
}

func TestWarningsDoNotRefuse(t *testing.T) {
	facts := goodHost()
	facts.Host.OS = hostinfo.OSRelease{ID: "debian", Version: "12", Name: "Debian"}
	facts.Host.SELinux = "disabled"
	facts.KubeletDirectory = "/data/lib/kubelet"
	facts.Units["firewalld.service"] = systemd.UnitState{Active: "active"}
	facts.Units["crio.service"] = systemd.UnitState{Active: "active"}
	facts.Sockets = []hostinfo.Socket{tcpSocket("127.0.0.1:9537")} // its process is unknown without root
	facts.Links = []hostnet.Link{
		{Name: "eth0", MTU: 900, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}},
	}
	result := Run(HostChecks(), facts)
	if result.Err() != nil || result.Summary() != summary("5 warnings") {
		t.Errorf("%s: %+v", result.Summary(), result.Findings)
	}
}

// A path is narrower than the link because a router has reported that, or the route has an MTU.
func TestMTUOfKnownPaths(t *testing.T) {
	facts := goodHost()
	facts.Paths = []KnownPath{
		{Endpoint: "the API server", MTU: 1400, Link: "eth0", LinkMTU: 1500},
		{Endpoint: "the ignition server", MTU: 1500, Link: "eth0", LinkMTU: 1500},
	}
	result := Run(HostChecks(), facts)
	const want = "the path to the API server carries packets of 1400 bytes, but the MTU of eth0 is 1500: if the paths " +
		"to other nodes are as narrow, the pod MTU of the cluster must be at most 1300"
	if len(result.Findings) != 1 || result.Findings[0].Severity != report.SeverityNote || result.Err() != nil ||
		result.Findings[0].Message != want {
		t.Errorf("%+v, want a note: %s", result.Findings, want)
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	facts := goodHost()
	facts.Host.Root = false
	facts.Sockets = []hostinfo.Socket{{Network: "udp", Address: netip.MustParseAddrPort("0.0.0.0:6081")}}
	result := Run(HostChecks(), facts)
	if warnings := result.WithoutRefusal(); warnings.Err() != nil || warnings.Summary() != summary("2 warnings") {
		t.Errorf("without refusal: %s, %v", warnings.Summary(), warnings.Err())
	}
	err := result.Err()
	if err == nil || !strings.Contains(err.Error(), "root") || !strings.Contains(err.Error(), "udp/6081") ||
		!strings.Contains(string(report.RemedyOf(err)), "sudo") ||
		!strings.Contains(string(report.RemedyOf(err)), "ss -lntup") {
		t.Errorf("%v\n%s", err, report.RemedyOf(err))
	}
}

func TestPayloadChecks(t *testing.T) {
	good := func() PayloadFacts {
		return PayloadFacts{
			Host: hostinfo.Facts{CgroupV2: true, Arch: "amd64"}, Arch: "amd64",
			KernelArguments:   []string{"systemd.unified_cgroup_hierarchy=1", "psi=0"},
			LoopbackAddresses: []netip.Addr{netip.MustParseAddr("172.20.0.1")},
			Links:             []hostnet.Link{{Name: "lo", Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.1/32")}}},
		}
	}
	if result := Run(PayloadChecks(), good()); len(result.Findings) != 0 {
		t.Fatalf("a good host has findings: %+v", result.Findings)
	}
	for name, test := range map[string]struct {
		spoil func(*PayloadFacts)
		want  []report.Finding
		code  report.Code
	}{
		"cgroup v1": {
			func(f *PayloadFacts) { f.Host.CgroupV2 = false },
			[]report.Finding{{Check: "cgroup", Severity: report.SeverityProblem}},
			report.RebootNeeded,
		},
		"architecture": {
			func(f *PayloadFacts) { f.Arch = "arm64" },
			[]report.Finding{{Check: "payload-architecture", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"FIPS cluster": {
			func(f *PayloadFacts) { f.FIPS = true },
			[]report.Finding{{Check: "fips", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"kernel of another type": {
			func(f *PayloadFacts) { f.KernelType, f.Host.Kernel = "realtime", "5.14.0-570.el9_6.x86_64" },
			[]report.Finding{{Check: "kernel-type", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"kernel of an unknown type": {
			func(f *PayloadFacts) { f.KernelType, f.Host.Kernel = "of-tomorrow", "5.14.0-570.el9_6.x86_64" },
			[]report.Finding{{Check: "kernel-type", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"extensions": {
			func(f *PayloadFacts) {
				f.MissingExtensions = []Extension{{"ipsec", []string{"libreswan"}}, {"of-tomorrow", nil}}
			},
			[]report.Finding{
				{Check: "extensions", Severity: report.SeverityProblem},
				{Check: "extensions", Severity: report.SeverityProblem},
			},
			report.Refused,
		},
		"unknown extension and kernel of a provisioned host": {
			func(f *PayloadFacts) {
				f.Host.OSTree, f.Host.OS.Variant, f.KernelType = true, "coreos", "of-tomorrow"
				f.MissingExtensions = []Extension{{"of-tomorrow", nil}}
			},
			[]report.Finding{
				{Check: "kernel-type", Severity: report.SeverityWarning},
				{Check: "extensions", Severity: report.SeverityWarning},
			},
			report.Success,
		},
		"unknown extension and kernel of another image": {
			func(f *PayloadFacts) {
				f.BootsImage, f.KernelType = true, "of-tomorrow"
				f.MissingExtensions = []Extension{{"of-tomorrow", nil}}
			},
			[]report.Finding{
				{Check: "kernel-type", Severity: report.SeverityProblem},
				{Check: "extensions", Severity: report.SeverityProblem},
			},
			report.Refused,
		},
		"FIPS host": {
			func(f *PayloadFacts) { f.Host.FIPS = true },
			[]report.Finding{{Check: "fips", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"unit": {
			func(f *PayloadFacts) { f.MissingUnits = []string{"openvswitch.service"} },
			[]report.Finding{{Check: "units", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"program": {
			func(f *PayloadFacts) { f.MissingPrograms = []Program{{"crio", "cri-o"}} },
			[]report.Finding{{Check: "programs", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"swap refused": {
			func(f *PayloadFacts) { f.Host.Swap, f.FailSwapOn = []string{"/dev/dm-1"}, true },
			[]report.Finding{{Check: "swap", Severity: report.SeverityProblem}},
			report.Refused,
		},
		"swap tolerated": {
			func(f *PayloadFacts) { f.Host.Swap = []string{"/dev/dm-1"} },
			[]report.Finding{{Check: "swap", Severity: report.SeverityWarning}},
			report.Success,
		},
		"internal address": {func(f *PayloadFacts) {
			f.Links = append(f.Links, hostnet.Link{
				Name:      "docker0",
				Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.1/16")},
			})
		}, []report.Finding{{Check: "internal-address", Severity: report.SeverityProblem}}, report.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			facts := good()
			test.spoil(&facts)
			result := Run(PayloadChecks(), facts)
			short := make([]report.Finding, 0, len(result.Findings))
			for _, f := range result.Findings {
				short = append(short, report.Finding{Check: f.Check, Severity: f.Severity})
			}
			if diff := cmp.Diff(test.want, short); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if code := report.CodeOf(result.Err()); code != test.code {
				t.Errorf("code %d, want %d", code, test.code)
			}
		})
	}
}

func TestCheckNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, check := range HostChecks() {
		seen[check.Name] = true
	}
	for _, check := range PayloadChecks() {
		seen[check.Name] = true
	}
	if len(seen) != len(HostChecks())+len(PayloadChecks()) {
		t.Error("two checks have one name")
	}
}

func TestKernelTypes(t *testing.T) {
	for release, kind := range map[string]string{
		"5.14.0-570.el9_6.x86_64+rt": "realtime", "5.14.0-284.11.1.rt14.296.el9_2.x86_64": "realtime",
		"6.12.0-55.el10.x86_64+rt":     "realtime",
		"5.14.0-570.el9_6.aarch64+64k": "64k-pages", "5.14.0-570.el9_6.x86_64": "default",
	} {
		for _, required := range []string{"realtime", "64k-pages", "default", ""} {
			found := checkKernelType(PayloadFacts{
				KernelType:     required,
				KernelPackages: "kernel-x",
				Host:           hostinfo.Facts{Kernel: release},
			})
			want := required != "" && required != "default" && required != kind
			if (len(found) > 0) != want {
				t.Errorf("%s on %s: %+v", required, release, found)
			}
		}
	}
}

func TestAddressFamily(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	for name, test := range map[string]struct {
		dns   string
		node  []netip.Addr
		warns bool
	}{
		"IPv4":                    {"172.31.0.10", []netip.Addr{four}, false},
		"IPv6":                    {"fd02::a", []netip.Addr{six}, false},
		"both":                    {"fd02::a", []netip.Addr{four, six}, false},
		"no DHCP server yet":      {"172.31.0.10", []netip.Addr{six}, true},
		"no router advertisement": {"fd02::a", []netip.Addr{four}, true},
		"addresses are not known": {"fd02::a", nil, false},
	} {
		facts := PayloadFacts{ClusterDNS: []netip.Addr{netip.MustParseAddr(test.dns)}, NodeAddresses: test.node}
		if findings := checkAddressFamily(facts); (len(findings) > 0) != test.warns {
			t.Errorf("%s: %+v", name, findings)
		}
	}
}
