// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// services returns the services whose state the checks use.
func services() []string {
	return []string{
		"NetworkManager.service", "firewalld.service", "fapolicyd.service", "kubelet.service", "crio.service", "openvswitch.service",
	}
}

// GetUnits returns the systemd states of the services in the checks.
func GetUnits(ctx context.Context, manager *systemd.Manager) (map[string]systemd.UnitState, error) {
	units := map[string]systemd.UnitState{}
	for _, name := range services() {
		state, err := manager.UnitState(ctx, name)
		if err != nil {
			return nil, err
		}
		units[name] = state
	}
	return units, nil
}

// Port is a port of a node and the service that uses it.
type Port struct {
	Network string // tcp or udp
	Number  int
	Service string
}

// String returns the port in the form "tcp/10250".
func (p Port) String() string { return fmt.Sprintf("%s/%d", p.Network, p.Number) }

// nodePorts returns the ports of kubelet, of CRI-O's metrics and of Geneve.
func nodePorts() []Port {
	return []Port{
		{"tcp", 10250, "kubelet.service"},
		{"tcp", 10248, "kubelet.service"},
		{"tcp", 9537, "crio.service"},
		{"udp", 6081, "openvswitch.service"},
	}
}

// UsedPorts returns the node ports that are in use. It binds each port briefly.
func UsedPorts(ctx context.Context) []Port {
	var taken []Port
	var listen net.ListenConfig
	for _, port := range nodePorts() {
		address := fmt.Sprintf(":%d", port.Number)
		if port.Network == "udp" {
			if conn, err := listen.ListenPacket(ctx, port.Network, address); err == nil {
				conn.Close()
				continue
			}
		} else if listener, err := listen.Listen(ctx, port.Network, address); err == nil {
			listener.Close()
			continue
		}
		taken = append(taken, port)
	}
	return taken
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
		if !command.Exists(program.Name) && !slices.Contains(missing, program) {
			missing = append(missing, program)
		}
	}
	return missing
}
