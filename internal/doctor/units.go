// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// unit is a service of a node, or a unit of the agent.
type unit struct {
	name    string
	step    string        // that starts the service; "" if no step does
	reason  report.Reason // of a finding that the service does not run; "": that of package node
	means   string        // of a failure of a unit of the agent
	stopped string        // what it means that a unit of the agent is stopped; "" if nothing
}

// units returns the services of a node in the order of their dependencies, and the units of the agent.
func units() []unit {
	return []unit{
		{name: systemd.NetworkManagerUnit}, // a check of the host requires it
		{name: openvswitch.Unit, step: steps.Network, reason: noOpenVSwitch},
		{name: crio.Unit, step: steps.Runtime},
		{name: kubelet.UnitName, step: steps.Kubelet},
		{
			name: machine.ServiceUnit, means: "an interrupted join was not resumed",
			stopped: "nothing monitors the node, or starts an upgrade that the controller permits",
		},
		{name: bootunits.NodeIPUnit, means: "kubelet uses the address of an earlier boot"},
		{
			name:  "hcp-node-agent-ovn-remote.service",
			means: "ovn-controller may have read the database of the previous boot",
		},
	}
}

func inspectUnits(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.host.Units == nil {
		return nil, nil // a check of the host reports the reason
	}
	states, required, causes := map[string]systemd.UnitState{}, map[string]bool{}, map[string]cause{}
	for _, u := range units() {
		state, err := d.host.Units.UnitState(ctx, u.name)
		if err != nil {
			return unitFindings(states, required, causes), err
		}
		states[u.name], required[u.name] = state, d.run.State.HasCompleted(u.step)
		if u.stopped != "" { // an administrator can disable it
			required[u.name] = d.phase() == joinstate.PhaseJoined && state.File == "enabled"
		}
		if required[u.name] && u.means == "" && state.Active != "active" {
			text, remedy := servicelog.Explain(servicelog.LastErrors(ctx, u.name, 60, "--since=-6min"))
			causes[u.name] = cause{text: text, remedy: remedy}
		}
	}
	return unitFindings(states, required, causes), nil
}

// cause is the cause of a unit's failure in its log: the continuation of a sentence, and a remedy if it is known.
type cause struct {
	text   string
	remedy report.Remedy
}

// unitFindings returns the findings about services. required are those that must be running.
func unitFindings(
	states map[string]systemd.UnitState, required map[string]bool, causes map[string]cause,
) []report.Finding {
	var findings []report.Finding
	var run []string
	for _, u := range units() {
		state, known := states[u.name]
		switch {
		case u.means != "" && state.Active == "failed":
			findings = append(findings, warning(report.Remedyf("journalctl -b -u %s", u.name), "%s has failed: %s",
				u.name, u.means))
		case u.stopped != "" && required[u.name] && state.Active == "inactive":
			findings = append(findings, warning("systemctl start hcp-node-agent", "%s is not running: %s", u.name, u.stopped))
		case u.means != "":
		case state.Active == "active":
			run = append(run, u.name)
		case known && required[u.name]:
			finding, why := notRunningFinding(u.name, state), causes[u.name]
			finding.Reason = cmp.Or(u.reason, node.UnitReason(u.name))
			if u.name == crio.Unit && required[kubelet.UnitName] && finding.Remedy == startRemedy("crio") {
				finding.Remedy = startRemedy("crio kubelet") // kubelet stops with CRI-O, and does not start with it
			}
			if state.Load == "loaded" && (why.remedy != "" || hasFailed(state)) { // also a healthy start logs errors
				finding.Message += why.text
				finding.Remedy = cmp.Or(why.remedy, finding.Remedy)
			}
			findings = append(findings, finding)
		}
	}
	if len(run) > 0 {
		findings = append(findings, passed("running: %s", strings.Join(run, ", ")))
	}
	return findings
}

// notRunningFinding returns a finding about a unit that does not run but must.
func notRunningFinding(name string, state systemd.UnitState) report.Finding {
	failing := hasFailed(state)
	short := strings.TrimSuffix(name, ".service")
	start := startRemedy(short)
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

// hasFailed reports whether the last start or run of a unit has failed.
func hasFailed(state systemd.UnitState) bool { return state.Result != "" && state.Result != "success" }

// startRemedy returns the command that starts units.
func startRemedy(names string) report.Remedy {
	first, _, _ := strings.Cut(names, " ")
	return report.Remedyf("systemctl start %s # to find the cause: journalctl -b -u %s", names, first)
}
