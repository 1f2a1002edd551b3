package kubelet

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// unitFindings returns the findings for inactive units, required units first.
func unitFindings(units []unitFacts) []Finding {
	var all []Finding
	for _, unit := range units {
		all = append(all, unitFinding(unit))
	}
	return all
}

func unitFinding(unit unitFacts) Finding {
	f := Finding{Severity: report.SeverityProblem, About: unit.name, Details: inWords(unit.errors...), Remedy: "journalctl -b -u " + unit.name}
	named := unit.name
	if unit.needed != "" {
		named += ", which " + unit.needed + " needs,"
	}
	switch unit.state.Load {
	case "not-found":
		f.Text = named + " does not exist on this host (Unit " + unit.name + " not found)"
		f.Remedy = unitPackage(unit.name)
		return f
	case "bad-setting", "error":
		f.Text, f.Remedy = named+" has a unit file that systemd cannot use ("+unit.state.Load+")", "systemd-analyze verify "+unit.name
		return f
	case "masked":
		f.Text, f.Remedy = named+" is masked", "systemctl unmask "+unit.name+" && systemctl start kubelet"
		return f
	}
	f.Text = fmt.Sprintf("%s does not run (%s)", named, idleState(unit.state))
	if starting(unit.state) {
		f.Text, f.passing = named+" is still starting", true
	}
	why, remedy := because(unit.errors)
	f.Text += why
	if remedy != "" {
		f.Remedy = remedy
	}
	return f
}

// idleState describes an inactive unit. A unit in a restart loop goes through
// several states a second. They have one description, so that the message is
// not logged repeatedly.
func idleState(state host.UnitState) string {
	failing := state.Result != "" && state.Result != "success"
	switch {
	case state.Load != "" && state.Load != "loaded":
		return state.Load
	case state.Active == "activating" && (failing || state.Sub == "auto-restart"):
		return "it ends soon after each start"
	case failing:
		return state.Active + ", " + state.Result
	}
	return state.Active
}

// starting reports whether a unit is starting and has not failed yet.
func starting(state host.UnitState) bool {
	return state.Active == "activating" && state.Sub != "auto-restart" && (state.Result == "" || state.Result == "success")
}

// unitPackage returns the command that installs the package of a unit. The
// package names of Open vSwitch depend on the release.
func unitPackage(unit string) string {
	switch unit {
	case "openvswitch.service", "ovs-vswitchd.service", "ovsdb-server.service":
		return "dnf install openvswitch3.1 # or newer, from the Fast Datapath repository\nsystemctl start kubelet"
	case "crio.service":
		return "dnf install cri-o cri-tools # of the cluster's release\nsystemctl start kubelet"
	case "kubelet.service":
		return "hcp-node-agent join # writes it"
	}
	return "dnf provides '*/" + unit + "' # names the package to install"
}

// runtimeFinding returns a finding if CRI-O runs but does not respond.
func runtimeFinding(m machineFacts) []Finding {
	if m.runtime == nil {
		return nil
	}
	return []Finding{{
		Severity: report.SeverityProblem, About: "CRI-O", Text: "CRI-O runs, but does not answer at its socket: " + shorten(m.runtime.Error(), brief),
		Remedy: "journalctl -b -u crio; systemctl restart crio # it restarts kubelet too",
	}}
}
