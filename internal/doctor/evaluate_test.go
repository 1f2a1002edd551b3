// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// formatFindings formats findings as lines of severity, text and remedy.
func formatFindings(findings []report.Finding) []string {
	lines := []string{}
	for _, f := range findings {
		line := string(f.Severity) + ": " + f.Message
		if f.Remedy != "" {
			line += " => " + string(f.Remedy)
		}
		if f.RefusesJoin {
			line = "refuses, " + line
		}
		lines = append(lines, line)
	}
	return lines
}

func checkFindings(t *testing.T, want []string, findings []report.Finding) {
	t.Helper()
	if diff := gocmp.Diff(want, formatFindings(findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDoctorReportsTheJoin(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	state := func(last string, finished time.Time) joinstate.State {
		return joinstate.State{
			NodeName:  "worker-7",
			NodePool:  "clusters/demo",
			APIServer: "https://api:6443",
			MachineID: "m",
			Started:   began,
			Finished:  finished,
			LastStep:  last,
			NextStep:  map[string]string{"runtime": "client-certificate", "files": "system"}[last],
		}
	}
	standalone := state("schedulable", began)
	standalone.NodePool = ""
	leaving := state("schedulable", began)
	leaving.Leaving = began
	upgrading := state("schedulable", began)
	upgrading.Upgrade = &joinstate.Upgrade{Started: began}
	identity := state("client-certificate", began)
	identity.Config.Until = "client-certificate"
	const joined = "ok: worker-7 joined NodePool clusters/demo of https://api:6443 at 2026-01-02T03:04:05Z"
	for name, test := range map[string]struct {
		d           diagnostics
		state       joinstate.State
		maintenance *joinstate.Maintenance
		facts       hostinfo.Facts
		want        []string
	}{
		"none": {want: []string{
			"note: this host has not joined a cluster with hcp-node-agent => hcp-node-agent join --user-data USER_DATA",
		}},
		"joined":  {state: state("schedulable", began), want: []string{joined}},
		"to half": {state: identity, want: []string{joined + ", up to --until client-certificate"}},
		"standalone": {state: standalone, want: []string{
			strings.Replace(joined, "NodePool clusters/demo", "the workers", 1),
		}},
		"join in progress": {state: state("runtime", time.Time{}), want: []string{
			`problem: the join of NodePool clusters/demo, started at 2026-01-02T03:04:05Z, has not finished: the last ` +
				`completed step is "runtime", the next is "client-certificate" => hcp-node-agent join # resumes the join`,
		}},
		"just begun": {state: state("", time.Time{}), want: []string{
			"problem: the join of NodePool clusters/demo, started at 2026-01-02T03:04:05Z, has not finished: no step has " +
				"completed => hcp-node-agent join # resumes the join",
		}},
		"at work": {d: diagnostics{busy: true}, state: state("files", time.Time{}), want: []string{
			"note: another hcp-node-agent is changing this host => journalctl -b -u hcp-node-agent",
			`note: the join of NodePool clusters/demo, started at 2026-01-02T03:04:05Z, has not finished: the last ` +
				`completed step is "files", the next is "system" => hcp-node-agent join # resumes the join`,
		}},
		"leaving": {state: leaving, want: []string{
			"problem: a leave of NodePool clusters/demo started at 2026-01-02T03:04:05Z and has not finished => " +
				"hcp-node-agent leave # resumes the leave",
		}},
		"upgraded": {state: upgrading, want: []string{
			`problem: an upgrade of worker-7 started at 2026-01-02T03:04:05Z and has not finished: the last completed ` +
				`step is "none" => ` + string(joinstate.ResumeUpgrade),
		}},
		"maintained": {
			state:       state("schedulable", began),
			maintenance: &joinstate.Maintenance{Started: began, Step: "update"},
			want: []string{
				`problem: a maintenance of worker-7 started at 2026-01-02T03:04:05Z and has not finished: the last ` +
					`completed step is "update" => ` + string(joinstate.ResumeMaintenance),
			},
		},
		"cloned": {state: state("schedulable", began), facts: hostinfo.Facts{MachineID: "another"}, want: []string{
			"problem: the state in /d was written by another machine (machine-id m) => # only if this machine was cloned " +
				"from a node, because the directory is required to restore a host; then join again:\nmv /d /d.clone",
		}},
		"inputs": {
			d: diagnostics{inputErr: report.UsageError("no such file")}, state: state("schedulable", began), want: []string{
				"warning: the inputs of the join cannot be read: no such file => hcp-node-agent doctor --help", joined,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.facts.MachineID = cmp.Or(test.facts.MachineID, "m")
			test.d.run, test.d.host = plan.Run{Dir: "/d", State: test.state}, machine.Reader{Facts: test.facts}
			checkFindings(t, test.want, test.d.joinFindings(test.maintenance))
		})
	}
}

func TestDoctorReportsAnUnreadableState(t *testing.T) {
	for _, test := range []struct {
		err  error
		root bool
		want string
	}{
		{
			fmt.Errorf("reading: %w", fs.ErrPermission), false,
			"note: reading: permission denied => sudo hcp-node-agent doctor",
		},
		{
			errors.New("reading the state of the join: EOF"), true,
			"problem: reading the state of the join: EOF => mv /d/join.json /d/join.json.damaged # then: hcp-node-agent " +
				"join --user-data USER_DATA (the ledger is kept, and leave can still revert its changes)",
		},
	} {
		host := machine.Reader{Facts: hostinfo.Facts{Root: test.root}}
		d := &diagnostics{run: plan.Run{Dir: "/d"}, host: host, stateErr: test.err}
		found, err := inspectJoin(t.Context(), d)
		if checkFindings(t, []string{test.want}, found); err != nil {
			t.Error(err)
		}
	}
}

func TestDoctorReportsTheUnits(t *testing.T) {
	active := systemd.UnitState{Load: "loaded", Active: "active"}
	all := map[string]bool{openvswitch.Unit: true, "crio.service": true, kubelet.UnitName: true}
	for name, test := range map[string]struct {
		states   map[string]systemd.UnitState
		required map[string]bool
		want     []string
	}{
		"well": {
			map[string]systemd.UnitState{
				systemd.NetworkManagerUnit: active,
				openvswitch.Unit:           active,
				"crio.service":             active,
				kubelet.UnitName:           active,
			},
			all,
			[]string{"ok: running: NetworkManager.service, openvswitch.service, crio.service, kubelet.service"},
		},
		"not joined": {
			map[string]systemd.UnitState{
				openvswitch.Unit: {Load: "not-found", Active: "inactive"},
				kubelet.UnitName: {Load: "loaded", Active: "failed"},
			},
			nil,
			[]string{},
		},
		"not looked": {nil, all, []string{}},
		"stopped": {
			map[string]systemd.UnitState{kubelet.UnitName: {Load: "loaded", Active: "inactive", Result: "success"}},
			all,
			[]string{
				"problem: kubelet.service is not running (inactive) => systemctl start kubelet # to find the cause: " +
					"journalctl -b -u kubelet",
			},
		},
		"failed": {
			map[string]systemd.UnitState{kubelet.UnitName: {Load: "loaded", Active: "failed", Result: "exit-code"}},
			all,
			[]string{
				"problem: kubelet.service is not running (failed, exit-code) => systemctl start kubelet # to find the cause: " +
					"journalctl -b -u kubelet",
			},
		},
		"not there": {
			map[string]systemd.UnitState{openvswitch.Unit: {Load: "not-found", Active: "inactive"}},
			all,
			[]string{
				"problem: openvswitch.service is not running: its load state in systemd is not-found => systemctl cat " +
					"openvswitch.service",
			},
		},
		"starting": {
			map[string]systemd.UnitState{kubelet.UnitName: {Load: "loaded", Active: "activating", Sub: "start-pre"}},
			all,
			[]string{"warning: kubelet.service is starting (start-pre) => systemctl status kubelet"},
		},
		"over again": {
			map[string]systemd.UnitState{
				kubelet.UnitName: {Load: "loaded", Active: "activating", Sub: "auto-restart", Result: "exit-code"},
			},
			all,
			[]string{"problem: kubelet.service exits soon after each start (exit-code) => journalctl -b -u kubelet"},
		},
		"service of the agent": {
			map[string]systemd.UnitState{machine.ServiceUnit: {Load: "loaded", File: "enabled", Active: "inactive"}},
			map[string]bool{machine.ServiceUnit: true},
			[]string{
				"warning: hcp-node-agent.service is not running: nothing monitors the node, or starts an upgrade that the " +
					"controller permits => systemctl start hcp-node-agent",
			},
		},
		"service of the agent, not joined": {
			map[string]systemd.UnitState{machine.ServiceUnit: {Load: "loaded", File: "enabled", Active: "inactive"}},
			nil,
			[]string{},
		},
		"managed by the agent": {
			map[string]systemd.UnitState{bootunits.NodeIPUnit: {Load: "loaded", Active: "failed"}},
			all,
			[]string{
				"warning: hcp-node-agent-node-ip.service has failed: kubelet uses the address of an earlier boot => " +
					"journalctl -b -u hcp-node-agent-node-ip.service",
			},
		},
	} {
		t.Run(name, func(t *testing.T) { checkFindings(t, test.want, unitFindings(test.states, test.required, nil)) })
	}
}
