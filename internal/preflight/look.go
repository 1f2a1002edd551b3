package preflight

import (
	"context"
	"fmt"
	"net"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Services are those whose state the checks look at.
func services() []string {
	return []string{"NetworkManager.service", "firewalld.service", "fapolicyd.service", "kubelet.service"}
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

// nodePorts are those that kubelet, the metrics of CRI-O and Geneve need.
func nodePorts() []struct {
	network string
	port    int
} {
	return []struct {
		network string
		port    int
	}{{"tcp", 10250}, {"tcp", 10248}, {"tcp", 9537}, {"udp", 6081}}
}

// LookPorts lists which ports of a node somebody else holds, by trying to
// bind them for a moment.
func LookPorts(ctx context.Context) []string {
	var taken []string
	var listen net.ListenConfig
	for _, p := range nodePorts() {
		address := fmt.Sprintf(":%d", p.port)
		if p.network == "udp" {
			if conn, err := listen.ListenPacket(ctx, p.network, address); err == nil {
				conn.Close()
				continue
			}
		} else if listener, err := listen.Listen(ctx, p.network, address); err == nil {
			listener.Close()
			continue
		}
		taken = append(taken, fmt.Sprintf("%s/%d", p.network, p.port))
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
// container runtime that the payload makes the default.
func LookPrograms(runtime string) []Program {
	var missing []Program
	for _, program := range Programs() {
		if program.Name == "runc" && runtime != "" {
			program = Program{runtime, runtime}
		}
		if !host.HasProgram(program.Name) {
			missing = append(missing, program)
		}
	}
	return missing
}
