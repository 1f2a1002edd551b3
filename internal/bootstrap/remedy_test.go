// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// A refused first join leaves no records. The commands of its remedies must therefore repeat its inputs
// and settings: each is parsed as the shell and the command do, in the state after the join.
func TestRemediesOfARefusedFirstJoinCanBeRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	flowtest.WriteTree(t, dir, map[string]string{
		"it's here/user-data.ign": string(flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11")),
	})
	for remedy, change := range map[report.Remedy]func(*config.Join){
		"hcp-node-agent join --bridge-interface NAME": func(c *config.Join) {
			c.BridgeInterface = "NAME"
		},
		"dnf install cri-o\n# or:\nhcp-node-agent join --install-packages": func(c *config.Join) {
			c.InstallPackages = true
		},
		"# set the source of the software: hcp-node-agent join --software rpm": func(c *config.Join) {
			c.Software = config.SoftwareRPM
		},
		"hcp-node-agent join --openshift-release 4.18 # print it: oc get nodepool -A": func(c *config.Join) {
			c.OpenShiftRelease = "4.18"
		},
		"hcp-node-agent join --payload-drop /etc/a": func(c *config.Join) {
			c.Payload.Exclude = []string{"/etc/b*", "/etc/a"}
		},
	} {
		given := config.Defaults()
		given.UserData, given.Skip, given.HostSettings = "it's here/user-data.ign", []string{steps.Packages},
			config.HostSettingsApply
		given.Payload.Exclude, given.BridgeInterface = []string{"/etc/b*"}, "eth0"
		failed := refuseJoin(t, given, remedy)

		want := given
		want.UserData = filepath.Join(dir, given.UserData)
		change(&want)
		for place, printed := range map[string]report.Remedy{
			"error": report.RemedyOf(failed.err),
			"step":  failed.step.Remedy,
		} {
			got := parseJoinCommand(t, printed)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: remedy %q (-want +got):\n%s", place, printed, diff)
			}
			options := request.Options{Config: got, StateDir: failed.dir}
			if _, err := request.Read(t.Context(), options, joinstate.State{}, request.UserDataRequired); err != nil {
				t.Errorf("%s: remedy %q: %v", place, printed, err)
			}
		}
	}
}

// A join from standard input has no file that a command could read, and a remedy that names user data
// keeps its own.
func TestRemediesOfOtherInputs(t *testing.T) {
	userData := flowtest.WriteTempFile(t, flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"))
	for name, test := range map[string]struct {
		given        config.Join
		remedy, want report.Remedy
	}{
		"standard input": {
			config.Join{UserData: "-"},
			"hcp-node-agent join --install-packages",
			"hcp-node-agent join --user-data USER_DATA --install-packages",
		},
		"no input": {
			config.Join{},
			"hcp-node-agent join --install-packages",
			"hcp-node-agent join --user-data USER_DATA --install-packages",
		},
		"other user data": {
			config.Join{Endpoint: "a.example.com", CAFile: userData, BridgeInterface: "eth0"},
			"hcp-node-agent join --user-data USER_DATA # with current user data",
			"hcp-node-agent join --bridge-interface eth0 --user-data USER_DATA # with current user data",
		},
		"join token": {
			config.Join{JoinToken: "/a.token"}, "hcp-node-agent join", "hcp-node-agent join --join-token /a.token",
		},
		"another command": {config.Join{UserData: userData}, "hcp-node-agent status", "hcp-node-agent status"},
	} {
		c, defaults := test.given, config.Defaults()
		c.Software, c.Until, c.NetworkTimeout, c.HostSettings = defaults.Software, defaults.Until, defaults.NetworkTimeout,
			defaults.HostSettings
		if got := (request.Options{Config: c}).CompleteRemedy(test.remedy); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// An upgrade must be run again as an upgrade, with its inputs and the setting of the remedy.
func TestRemediesOfAnUpgrade(t *testing.T) {
	given := config.Defaults()
	given.UserData, given.ConnectTo, given.BridgeInterface = "/new.ign", "192.0.2.1:443", "eth0"
	for remedy, want := range map[report.Remedy]report.Remedy{
		"# set the source: hcp-node-agent join --software rpm": "# set the source: hcp-node-agent upgrade " +
			"--user-data /new.ign --connect-to 192.0.2.1:443 --software rpm",
		"hcp-node-agent join --install-packages": "hcp-node-agent upgrade --user-data /new.ign " +
			"--connect-to 192.0.2.1:443 --install-packages",
		"hcp-node-agent join # restores the joined state": "hcp-node-agent join # restores the joined state",
		"hcp-node-agent join --pause-image IMAGE":         "hcp-node-agent join --pause-image IMAGE",
	} {
		options := request.Options{Command: request.UpgradeCommand, Config: given}
		if got := options.CompleteRemedy(remedy); got != want {
			t.Errorf("%q is completed to %q, want %q", remedy, got, want)
		}
	}
}

// refusedJoin is the result of a join that was refused in its first step.
type refusedJoin struct {
	dir  string // the state directory
	err  error
	step report.StepResult
}

// refuseJoin runs a first join whose first step fails with a remedy.
func refuseJoin(t *testing.T, given config.Join, remedy report.Remedy) refusedJoin {
	t.Helper()
	recorder := &report.Recorder{}
	options := request.Options{Config: given, StateDir: t.TempDir(), Sink: recorder}
	in, err := request.Read(t.Context(), options, joinstate.State{}, request.UserDataRequired)
	flowtest.NoError(t, err)
	j := NewFlow(
		plan.Run{Request: in, Dir: options.StateDir, Sink: recorder},
		machinetest.Open(t, t.TempDir()),
	)
	var ran []string
	refusal := stepEnd{err: report.Fail(report.Refused, remedy, "refused")}
	_, err = j.runJoin(t.Context(), options, scriptedSteps(&ran, map[string]stepEnd{steps.Preflight: refusal}))
	if report.CodeOf(err) != report.Refused || len(recorder.Steps) != 1 {
		t.Fatalf("error %v after the steps %+v", err, recorder.Steps)
	}
	if state, err := joinstate.Read(options.StateDir); err != nil || state.Exists() {
		t.Fatalf("the refused join has left its records: %v", err)
	}
	return refusedJoin{options.StateDir, err, recorder.Steps[0]}
}

// parseJoinCommand returns the settings of the join command in a remedy.
func parseJoinCommand(t *testing.T, remedy report.Remedy) config.Join {
	t.Helper()
	_, command, found := strings.Cut(string(remedy), "hcp-node-agent join")
	if !found {
		t.Fatalf("no join command in %q", remedy)
	}
	command, _, _ = strings.Cut(command, "\n")
	words, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+command).Output()
	flowtest.NoError(t, err)
	settings := config.Defaults()
	flowtest.NoError(t, config.FlagSet(&settings).Parse(strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")))
	return settings
}
