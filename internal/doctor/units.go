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
	networkManagerUnit = "NetworkManager.service" // a preflight check covers it
)

// nodeUnits returns the services of a node with the steps that start them, in the
// order of their dependencies.
func nodeUnits() []struct{ name, step string } {
	return []struct{ name, step string }{
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

// unitFacts describes the state of the services.
type unitFacts struct {
	States   map[string]systemd.UnitState
	Required map[string]bool // services that must be running
}

func inspectUnits(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.Systemd == nil {
		return nil, nil // a check of the host reports the reason
	}
	facts := unitFacts{States: map[string]systemd.UnitState{}, Required: map[string]bool{}}
	names := []string{networkManagerUnit}
	for _, unit := range nodeUnits() {
		names = append(names, unit.name)
		facts.Required[unit.name] = d.State.HasCompleted(unit.step)
	}
	for _, unit := range agentUnits() {
		names = append(names, unit.name)
	}
	for _, name := range names {
		state, err := d.Systemd.UnitState(ctx, name)
		if err != nil {
			return facts.evaluate(), err
		}
		facts.States[name] = state
	}
	return facts.evaluate(), nil
}

func (f unitFacts) evaluate() []report.Finding {
	var findings []report.Finding
	var run []string
	if f.States[networkManagerUnit].Active == "active" {
		run = append(run, networkManagerUnit)
	}
	for _, unit := range nodeUnits() {
		state, known := f.States[unit.name]
		switch {
		case !known:
		case state.Active == "active":
			run = append(run, unit.name)
		case f.Required[unit.name]:
			findings = append(findings, notRunningFinding(unit.name, state))
		}
	}
	for _, unit := range agentUnits() {
		if f.States[unit.name].Active == "failed" {
			findings = append(findings, report.Finding{
				Severity: report.SeverityWarning, Message: unit.name + " has failed: " +
					unit.means, Remedy: report.Remedy("journalctl -b -u " + unit.name),
			})
		}
	}
	if len(run) > 0 {
		findings = append(findings, report.Finding{Severity: report.SeverityOK, Message: "running: " +
			strings.Join(run, ", ")})
	}
	return findings
}

// notRunningFinding returns a finding about a unit that does not run but must.
func notRunningFinding(name string, state systemd.UnitState) report.Finding {
	failing := state.Result != "" && state.Result != "success"
	short := strings.TrimSuffix(name, ".service")
	finding := report.Finding{Severity: report.SeverityProblem, Remedy: report.Remedy("systemctl start " + short +
		" # to find the cause: journalctl -b -u " + short)}
	switch {
	case state.Load != "loaded":
		finding.Message = name + " is not running: its load state in systemd is " + state.Load
		finding.Remedy = report.Remedy("systemctl cat " + name)
	case state.Active == "activating" && (failing || state.Sub == "auto-restart"):
		finding.Message, finding.Remedy = name+" exits soon after each start ("+state.Result+
			")", report.Remedy("journalctl -b -u "+short)
	case state.Active == "activating":
		finding.Severity = report.SeverityWarning
		finding.Message = name + " is starting (" + state.Sub + ")"
		finding.Remedy = report.Remedy("systemctl status " + short)
	case failing:
		finding.Message = name + " is not running (" + state.Active + ", " + state.Result + ")"
	default:
		finding.Message = name + " is not running (" + state.Active + ")"
	}
	return finding
}
