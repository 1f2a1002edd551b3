// SPDX-License-Identifier: Apache-2.0

// Package nodeports contains the table of the ports of a node. Checks of the host, the ports that the
// agent opens in firewalld, and docs/network-requirements.md follow from it.
package nodeports

import (
	"fmt"
	"strconv"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// Port is a port or a range of ports on which a node listens.
type Port struct {
	First, Last int
	Networks    []string // tcp, udp
	Inbound     bool     // other hosts connect; otherwise only the host itself does
	Opened      bool     // --apply-host-settings opens it in firewalld

	// Of a port that must be unused before the join: the service that listens on it, and the pod in the
	// host's network if kubelet.service starts one for it.
	Service, Pod string
}

// String returns the numbers in the form "10250" or "30000-32767".
func (p Port) String() string {
	if p.First == p.Last {
		return strconv.Itoa(p.First)
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// NodeExporter is the port of node-exporter, which listens only on the node's address.
const NodeExporter = 9100

// All returns the table. On platform None, the strategy of the default router is HostNetwork.
func All() []Port {
	const kubelet, crio, vswitch = systemd.KubeletUnit, systemd.CRIOUnit, openvswitch.Unit
	tcp, udp := []string{"tcp"}, []string{"udp"}
	both := []string{"tcp", "udp"}
	return []Port{
		{First: 9000, Last: 9999, Networks: both, Inbound: true, Opened: true},
		{First: 10250, Last: 10259, Networks: tcp, Inbound: true, Opened: true},
		{First: 10250, Last: 10250, Networks: tcp, Inbound: true, Service: kubelet},
		{First: 10248, Last: 10248, Networks: tcp, Service: kubelet},
		{First: 9537, Last: 9537, Networks: tcp, Service: crio},
		{First: 6081, Last: 6081, Networks: udp, Inbound: true, Opened: true, Service: vswitch},
		{First: NodeExporter, Last: NodeExporter, Networks: tcp, Inbound: true, Service: kubelet, Pod: "node-exporter"},
		{First: 30000, Last: 32767, Networks: both, Inbound: true, Opened: true},
		{First: 80, Last: 80, Networks: tcp, Inbound: true, Service: kubelet, Pod: "router"},
		{First: 443, Last: 443, Networks: tcp, Inbound: true, Service: kubelet, Pod: "router"},
		{First: 1936, Last: 1936, Networks: tcp, Inbound: true},
		{First: 9103, Last: 9103, Networks: tcp, Inbound: true},
		{First: 9105, Last: 9105, Networks: tcp, Inbound: true},
		{First: 9107, Last: 9107, Networks: tcp, Inbound: true},
		{First: 9637, Last: 9637, Networks: tcp, Inbound: true},
		{First: 10256, Last: 10256, Networks: tcp, Inbound: true},
		{First: 500, Last: 500, Networks: udp, Inbound: true},
		{First: 4500, Last: 4500, Networks: udp, Inbound: true},
	}
}

// Opened returns the ports that --apply-host-settings opens, in the form "10250-10259/tcp".
func Opened() []string {
	var all []string
	for _, port := range All() {
		for _, network := range port.Networks {
			if port.Opened {
				all = append(all, port.String()+"/"+network)
			}
		}
	}
	return all
}
