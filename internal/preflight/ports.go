// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeports"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodePort is a port that must be unused before the join.
type nodePort struct {
	nodeports.Port
	network string
}

// nodePorts returns the ports of kubelet, CRI-O, Geneve, node-exporter and, on nodes that
// run it, the default router.
func nodePorts() []nodePort {
	var all []nodePort
	for _, port := range nodeports.All() {
		for _, network := range port.Networks {
			if port.Service != "" {
				all = append(all, nodePort{port, network})
			}
		}
	}
	return all
}

// String returns the port in the form "tcp/10250".
func (p nodePort) String() string { return p.network + "/" + p.Port.String() }

// IsNodePort reports whether a port is one of the ports of a node.
func IsNodePort(network string, number int) bool {
	return slices.ContainsFunc(nodePorts(), func(p nodePort) bool { return p.network == network && p.First == number })
}

// isTaken reports whether a socket prevents the port's service or pod from using the port.
// A socket without a known process belongs to the port's service if that service is running:
// Open vSwitch's socket is one of the kernel. A kubelet of another cluster is the finding of
// another check.
func (p nodePort) isTaken(socket hostinfo.Socket, units map[string]systemd.UnitState) bool {
	switch {
	case socket.Network != p.network || int(socket.Address.Port()) != p.First:
		return false
	case socket.Process == "":
		state := units[p.Service].Active
		return state != "active" && state != "activating"
	case p.First == nodeports.NodeExporter && socket.Address.Addr().IsLoopback():
		return false // the pod listens only on the node's address
	case p.Pod != "":
		return !socket.Pod
	}
	return socket.Service != p.Service
}

// checkPorts reports the ports that other processes use. Without its own ports, a node does
// not become Ready. Without those of the pods, it only cannot run these pods.
func checkPorts(f HostFacts) []report.Finding {
	var required, ofPods []string
	for _, port := range nodePorts() {
		for _, socket := range f.Sockets {
			if !port.isTaken(socket, f.Units) {
				continue
			}
			if port.Pod == "" {
				required = append(required, port.String()+" by "+describeOwner(socket))
			} else {
				ofPods = append(ofPods, fmt.Sprintf("%s (%s) by %s", port, port.Pod, describeOwner(socket)))
			}
		}
	}
	remedy := report.Remedy("ss -lntup # lists the processes that use them")
	if f.OtherCluster != nil {
		remedy += "\nhcp-node-agent join --adopt # records a node of the same cluster as joined, without changing it"
	}
	var findings []report.Finding
	if len(required) > 0 {
		findings = errorFinding(remedy, "ports that a node requires are in use: %s", joinUnique(required))
	}
	if len(ofPods) > 0 {
		findings = append(findings, warningFinding(remedy,
			"ports of pods in the host network are in use: %s; these pods cannot start on this node", joinUnique(ofPods))...)
	}
	return findings
}

func describeOwner(socket hostinfo.Socket) string {
	switch {
	case socket.Process == "":
		return "another process"
	case socket.Service == "":
		return socket.Process
	}
	return socket.Process + " of " + socket.Service
}

// joinUnique joins texts. A process has the same text for its IPv4 and its IPv6 socket.
func joinUnique(texts []string) string { return strings.Join(slices.Compact(texts), ", ") }

// checkFirewall reports firewalld, and the ports that the uplink's zone does not open.
func checkFirewall(f HostFacts) []report.Finding {
	if f.Units["firewalld.service"].Active != "active" {
		return nil
	}
	var closed, flags []string
	for _, port := range nodePorts() {
		if f.Firewall != nil && port.Inbound && !f.Firewall.Allows(port.network, port.First) {
			closed = append(closed, port.String())
			flags = append(flags, fmt.Sprintf("--add-port=%d/%s", port.First, port.network))
		}
	}
	if len(closed) == 0 {
		return warningFinding("firewall-cmd --list-all-zones # firewalld also drops forwarded packets of pods; if your "+
			"policy permits it, disable it: systemctl disable --now firewalld",
			"firewalld is running; it drops packets of the cluster network unless its rules allow them")
	}
	return warningFinding(report.Remedyf("firewall-cmd --permanent --zone=%s %s && firewall-cmd --reload # firewalld "+
		"also drops forwarded packets of pods; if your policy permits it, disable it: systemctl disable --now firewalld",
		report.ShellWord(f.Firewall.Name), strings.Join(flags, " ")),
		"firewalld is running, and its zone %s with %s does not open ports of a node: %s", f.Firewall.Name,
		f.Firewall.Interface, strings.Join(closed, ", "))
}
