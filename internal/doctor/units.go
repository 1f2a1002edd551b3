// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

const (
	openVSwitchUnit    = "openvswitch.service"
	networkManagerUnit = "NetworkManager.service"
)

// nodeUnit is a service of a node.
type nodeUnit struct {
	name string
	step string // that starts the service; "" if a preflight check requires it
}

// nodeUnits returns the services of a node in the order of their dependencies.
func nodeUnits() []nodeUnit {
	return []nodeUnit{
		{networkManagerUnit, ""},
		{openVSwitchUnit, steps.Network},
		{crio.Unit, steps.Runtime},
		{kubelet.UnitName, steps.Kubelet},
	}
}

// agentUnits returns the units of the agent with the meaning of a failure.
func agentUnits() []struct{ name, means string } {
	return []struct{ name, means string }{
		{machine.ServiceUnit, "an interrupted join was not resumed"},
		{bootunits.NodeIPUnit, "kubelet uses the address of an earlier boot"},
		{"hcp-node-agent-ovn-remote.service", "ovn-controller may have read the database of the previous boot"},
	}
}

func inspectUnits(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.Systemd == nil {
		return nil, nil // a check of the host reports the reason
	}
	states, required := map[string]systemd.UnitState{}, map[string]bool{}
	var names []string
	for _, unit := range nodeUnits() {
		names = append(names, unit.name)
		required[unit.name] = d.State.HasCompleted(unit.step)
	}
	for _, unit := range agentUnits() {
		names = append(names, unit.name)
	}
	for _, name := range names {
		state, err := d.Systemd.UnitState(ctx, name)
		if err != nil {
			return unitFindings(states, required), err
		}
		states[name] = state
	}
	return unitFindings(states, required), nil
}

// unitFindings returns the findings about services. required are those that must be running.
func unitFindings(states map[string]systemd.UnitState, required map[string]bool) []report.Finding {
	var findings []report.Finding
	var run []string
	for _, unit := range nodeUnits() {
		state, known := states[unit.name]
		switch {
		case state.Active == "active":
			run = append(run, unit.name)
		case known && required[unit.name]:
			findings = append(findings, notRunningFinding(unit.name, state))
		}
	}
	for _, unit := range agentUnits() {
		if states[unit.name].Active == "failed" {
			findings = append(findings,
				warning(report.Remedyf("journalctl -b -u %s", unit.name), "%s has failed: %s", unit.name, unit.means))
		}
	}
	if len(run) > 0 {
		findings = append(findings, passed("running: %s", strings.Join(run, ", ")))
	}
	return findings
}

// notRunningFinding returns a finding about a unit that does not run but must.
func notRunningFinding(name string, state systemd.UnitState) report.Finding {
	failing := state.Result != "" && state.Result != "success"
	short := strings.TrimSuffix(name, ".service")
	start := report.Remedyf("systemctl start %[1]s # to find the cause: journalctl -b -u %[1]s", short)
	switch {
	case state.Load != "loaded":
		return problem(report.Remedyf("systemctl cat %s", name),
			"%s is not running: its load state in systemd is %s", name, state.Load)
	case state.Active == "activating" && (failing || state.Sub == "auto-restart"):
		return problem(report.Remedyf("journalctl -b -u %s", short),
			"%s exits soon after each start (%s)", name, state.Result)
	case state.Active == "activating":
		return warning(report.Remedyf("systemctl status %s", short), "%s is starting (%s)", name, state.Sub)
	case failing:
		return problem(start, "%s is not running (%s, %s)", name, state.Active, state.Result)
	}
	return problem(start, "%s is not running (%s)", name, state.Active)
}
