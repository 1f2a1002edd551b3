// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// GetUnits returns the systemd states of the services in the checks.
func GetUnits(ctx context.Context, manager *systemd.Manager) (map[string]systemd.UnitState, error) {
	units := map[string]systemd.UnitState{}
	for _, name := range []string{
		"NetworkManager.service", "firewalld.service", "fapolicyd.service", "kubelet.service", "crio.service",
		"openvswitch.service",
	} {
		state, err := manager.UnitState(ctx, name)
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
