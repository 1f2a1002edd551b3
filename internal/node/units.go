// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// unitFinding returns the finding for an inactive unit.
func unitFinding(unit unitFacts) report.Finding {
	f := report.Finding{
		Severity: report.SeverityProblem,
		Reason:   UnitReason(unit.name),
		Subject:  unit.name,
		Details:  servicelog.Format(unit.errors...),
		Remedy:   report.Remedy("journalctl -b -u " + unit.name),
	}
	named := unit.name
	if unit.requiredBy != "" {
		named += ", which " + unit.requiredBy + " requires,"
	}
	switch unit.state.Load {
	case "not-found":
		f.Message = named + " does not exist on this host (Unit " + unit.name + " not found)"
		f.Remedy = installRemedy(unit.name)
		return f
	case "bad-setting", "error":
		f.Message, f.Remedy = named+" has an invalid unit file ("+unit.state.Load+
			")", report.Remedy("systemd-analyze verify "+unit.name)
		return f
	case "masked":
		f.Message, f.Remedy = named+" is masked", report.Remedy("systemctl unmask "+unit.name+" && systemctl "+
			"start kubelet")
		return f
	}
	f.Message = fmt.Sprintf("%s is not running (%s)", named, describeState(unit.state))
	cause, remedy := servicelog.Explain(unit.errors)
	if isStarting(unit.state) {
		f.Message, f.Temporary = named+" is still starting", true
		if remedy == "" { // kubelet logs errors at each start that later attempts resolve
			f.Remedy, f.Details = "", nil
			return f
		}
	}
	f.Message += cause
	if remedy != "" {
		f.Remedy = remedy
	}
	return f
}

// UnitReason returns the reason of a finding about a unit that does not run.
func UnitReason(unit string) report.Reason {
	switch unit {
	case systemd.KubeletUnit:
		return report.KubeletNotRunning
	case systemd.CRIOUnit:
		return report.CRIONotRunning
	}
	return report.RequiredUnitNotRunning
}

// describeState describes an inactive unit. A unit in a restart loop goes through
// several states a second. They have one description, so that the message is
// not logged repeatedly.
func describeState(state systemd.UnitState) string {
	failing := state.Result != "" && state.Result != "success"
	switch {
	case state.Load != "" && state.Load != "loaded":
		return state.Load
	case state.Active == "activating" && (failing || state.Sub == "auto-restart"):
		return "it exits soon after each start"
	case failing:
		return state.Active + ", " + state.Result
	}
	return state.Active
}

// isStarting reports whether a unit is starting and has not failed yet.
func isStarting(state systemd.UnitState) bool {
	return state.Active == "activating" && state.Sub != "auto-restart" &&
		(state.Result == "" || state.Result == "success")
}

// installRemedy returns the command that installs the package of a unit. The
// package names of Open vSwitch depend on the release.
func installRemedy(unit string) report.Remedy {
	switch unit {
	case openvswitch.Unit, openvswitch.SwitchUnit, openvswitch.DatabaseUnit:
		return "dnf install openvswitch3.5 # or another version: dnf list 'openvswitch3*'\nsystemctl start kubelet"
	case systemd.CRIOUnit:
		return "dnf install cri-o cri-tools # of the cluster's release\nsystemctl start kubelet"
	case systemd.KubeletUnit:
		return "hcp-node-agent join # writes the unit file"
	}
	return report.Remedy("dnf provides '*/" + unit + "' # shows the package to install")
}

// runtimeFinding returns a finding if CRI-O runs but does not respond.
func runtimeFinding(m hostFacts) []report.Finding {
	if m.runtimeErr == nil {
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityProblem,
		Reason:   report.CRIONotRunning,
		Subject:  "CRI-O",
		Message: "CRI-O is running, but does not respond on its socket: " +
			servicelog.Shorten(m.runtimeErr.Error(), servicelog.MaxExcerpt),
		Remedy: "journalctl -b -u crio; systemctl restart crio # restarts kubelet too",
	}}
}
