package preflight

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// services are those whose state the checks look at.
func services() []string {
	return []string{
		"NetworkManager.service", "firewalld.service", "fapolicyd.service", "kubelet.service", "crio.service", "openvswitch.service",
	}
}

// LookUnits asks systemd about the services that matter to the checks.
func LookUnits(ctx context.Context, systemd *host.Systemd) (map[string]host.UnitState, error) {
	units := map[string]host.UnitState{}
	for _, name := range services() {
		state, err := systemd.UnitState(ctx, name)
		if err != nil {
			return nil, err
		}
		units[name] = state
	}
	return units, nil
}

// Port is a port that a node needs, and the service that holds it there.
type Port struct {
	Network string // tcp or udp
	Number  int
	Service string
}

// String is "tcp/10250".
func (p Port) String() string { return fmt.Sprintf("%s/%d", p.Network, p.Number) }

// nodePorts are those of kubelet, of CRI-O's metrics and of Geneve.
func nodePorts() []Port {
	return []Port{
		{"tcp", 10250, "kubelet.service"},
		{"tcp", 10248, "kubelet.service"},
		{"tcp", 9537, "crio.service"},
		{"udp", 6081, "openvswitch.service"},
	}
}

// LookPorts lists which ports of a node somebody holds, by trying to bind them
// for a moment.
func LookPorts(ctx context.Context) []Port {
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

// Programs are the executables that every node needs and no payload brings.
func Programs() []Program {
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

// LookPrograms lists the programs that are not installed; runtime names the
// container runtime that the payload makes the default, more are those that the
// payload's units run.
func LookPrograms(runtime string, more []Program) []Program {
	var missing []Program
	for _, program := range slices.Concat(Programs(), more) {
		if program.Name == "runc" && runtime != "" {
			program = Program{runtime, runtime}
		}
		if !host.HasProgram(program.Name) && !slices.Contains(missing, program) {
			missing = append(missing, program)
		}
	}
	return missing
}
