// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func tcpSocket(address string) hostinfo.Socket {
	return hostinfo.Socket{Network: "tcp", Address: netip.MustParseAddrPort(address)}
}

// messages returns the findings of one check in the form "SEVERITY: MESSAGE".
func messages(findings []report.Finding) []string {
	var all []string
	for _, finding := range findings {
		all = append(all, string(finding.Severity)+": "+finding.Message)
	}
	return all
}

func TestCheckPorts(t *testing.T) {
	socket := func(address, process, service string, pod bool) hostinfo.Socket {
		s := tcpSocket(address)
		s.Process, s.Service, s.Pod = process, service, pod
		return s
	}
	geneve := hostinfo.Socket{Network: "udp", Address: netip.MustParseAddrPort("[::]:6081")}
	running := map[string]systemd.UnitState{
		"kubelet.service": {Active: "active"}, "crio.service": {Active: "active"}, "openvswitch.service": {Active: "active"},
	}
	for name, test := range map[string]struct {
		sockets []hostinfo.Socket
		units   map[string]systemd.UnitState
		want    []string
	}{
		"none": {},
		"a joined node": {[]hostinfo.Socket{
			socket("[::]:10250", "kubelet", "kubelet.service", false),
			socket("127.0.0.1:10248", "kubelet", "kubelet.service", false),
			socket("127.0.0.1:9537", "crio", "crio.service", false), geneve,
			socket("192.0.2.7:9100", "kube-rbac-proxy", "", true), socket("0.0.0.0:80", "haproxy", "", true),
			socket("[::]:443", "haproxy", "", true),
		}, running, nil},
		"a joined node without root": {
			[]hostinfo.Socket{tcpSocket("[::]:10250"), tcpSocket("0.0.0.0:80"), geneve}, running, nil,
		},
		"a web server": {
			[]hostinfo.Socket{
				socket("0.0.0.0:80", "nginx", "nginx.service", false), socket("[::]:80", "nginx", "nginx.service", false),
				socket("[::]:443", "caddy", "", false),
			},
			nil,
			[]string{"warning: ports of pods in the host network are in use: tcp/80 (router) by nginx of nginx.service, " +
				"tcp/443 (router) by caddy; " +
				"these pods cannot start on this node"},
		},
		"a web server on a joined node": {
			[]hostinfo.Socket{socket("127.0.0.1:443", "httpd", "httpd.service", false)},
			running,
			[]string{
				"warning: ports of pods in the host network are in use: tcp/443 (router) by httpd of httpd.service; these pods " +
					"cannot start on this node",
			},
		},
		"node_exporter of the host": {
			[]hostinfo.Socket{socket("[::]:9100", "node_exporter", "node_exporter.service", false)},
			nil,
			[]string{"warning: ports of pods in the host network are in use: tcp/9100 (node-exporter) by node_exporter of " +
				"node_exporter.service; " +
				"these pods cannot start on this node"},
		},
		"node_exporter on a loopback address": {
			[]hostinfo.Socket{socket("127.0.0.1:9100", "node_exporter", "", false)}, nil, nil,
		},
		"another kubelet and another program": {
			[]hostinfo.Socket{
				socket("[::]:10250", "k3s-server", "k3s.service", false), socket("0.0.0.0:80", "nginx", "", false), geneve,
			},
			nil,
			[]string{
				"problem: ports that a node requires are in use: tcp/10250 by k3s-server of k3s.service, udp/6081 by another " +
					"process",
				"warning: ports of pods in the host network are in use: tcp/80 (router) by nginx; these pods cannot start " +
					"on this node",
			},
		},
		"kubelet runs, but does not have its port": {
			[]hostinfo.Socket{socket("[::]:10250", "python3", "", false)},
			running,
			[]string{"problem: ports that a node requires are in use: tcp/10250 by python3"},
		},
		"a UDP socket on a TCP port": {
			[]hostinfo.Socket{{Network: "udp", Address: netip.MustParseAddrPort("0.0.0.0:443"), Process: "caddy"}}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, messages(checkPorts(HostFacts{
				Sockets: test.sockets,
				Units:   test.units,
			}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckFirewall(t *testing.T) {
	running := map[string]systemd.UnitState{"firewalld.service": {Active: "active"}}
	open := func(ports ...firewalld.Ports) *firewalld.Zone {
		return &firewalld.Zone{Name: "public", Interface: "eth0", Open: ports}
	}
	all := []firewalld.Ports{
		{Network: "tcp", First: 80, Last: 80},
		{Network: "tcp", First: 443, Last: 10250},
		{Network: "udp", First: 6081, Last: 6081},
	}
	const generic = "warning: firewalld is running; it drops packets of the cluster network unless its rules allow them"
	for name, test := range map[string]struct {
		units   map[string]systemd.UnitState
		zone    *firewalld.Zone
		want    []string
		command string
	}{
		"not running":        {nil, nil, nil, ""},
		"rules not readable": {running, nil, []string{generic}, "firewall-cmd --list-all-zones"},
		"all open":           {running, open(all...), []string{generic}, "firewall-cmd --list-all-zones"},
		"a zone that accepts all": {
			running, &firewalld.Zone{Name: "trusted", AcceptAll: true}, []string{generic}, "firewall-cmd --list-all-zones",
		},
		"Geneve and the router only": {
			running, open(all[0], firewalld.Ports{Network: "tcp", First: 443, Last: 443}, all[2]),
			[]string{
				"warning: firewalld is running, and its zone public with eth0 does not open ports of a node: tcp/10250, tcp/9100",
			},
			"firewall-cmd --permanent --zone=public --add-port=10250/tcp --add-port=9100/tcp && firewall-cmd --reload",
		},
		"none": {
			running, open(),
			[]string{
				"warning: firewalld is running, and its zone public with eth0 does not open ports of a node: tcp/10250, " +
					"udp/6081, tcp/9100, tcp/80, tcp/443",
			},
			"firewall-cmd --permanent --zone=public --add-port=10250/tcp --add-port=6081/udp --add-port=9100/tcp " +
				"--add-port=80/tcp --add-port=443/tcp && firewall-cmd --reload",
		},
	} {
		t.Run(name, func(t *testing.T) {
			findings := checkFirewall(HostFacts{Units: test.units, Firewall: test.zone})
			if diff := cmp.Diff(test.want, messages(findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var commands []string
			for _, finding := range findings {
				commands = append(commands, finding.Remedy.Command())
			}
			if got := strings.Join(commands, "\n"); got != test.command {
				t.Errorf("command %q, want %q", got, test.command)
			}
		})
	}
}

func TestCheckClock(t *testing.T) {
	const unsynchronized = "warning: no time service has synchronized this host's clock; if it drifts, " +
		"certificates will be rejected"
	for name, test := range map[string]struct {
		facts HostFacts
		want  []string
	}{
		"synchronized":     {HostFacts{ClockSkew: maxSkew}, nil},
		"not synchronized": {HostFacts{ClockUnsynchronized: true}, []string{unsynchronized}},
		"wrong": {
			HostFacts{ClockSkew: -2 * maxSkew}, []string{
				"problem: this host's clock is 4m0s ahead of the ignition server's; certificates will be rejected",
			},
		},
		"wrong for a reason": {
			HostFacts{ClockSkew: 2 * maxSkew, ClockUnsynchronized: true},
			[]string{"problem: this host's clock is 4m0s behind the ignition server's; certificates will be rejected"},
		},
	} {
		if diff := cmp.Diff(test.want, messages(checkClock(test.facts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
