// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func joinedState() joinstate.State {
	return joinstate.State{
		NodeName: "worker-0", Hosted: true, NodePool: "clusters/workers", ConfigHash: "a", PayloadDigest: "A",
		Started: time.Unix(1, 0), Finished: time.Unix(2, 0), Registered: true,
	}
}

func TestOnlyJoinedNodesOfHostedClustersAreUpgraded(t *testing.T) {
	change := func(edit func(*joinstate.State)) joinstate.State {
		state := joinedState()
		edit(&state)
		return state
	}
	unfinished := change(func(s *joinstate.State) { s.Upgrade = &joinstate.Upgrade{} })
	for name, test := range map[string]struct {
		state   joinstate.State
		options Options
		message string // "" if it is upgraded
	}{
		"joined":  {state: joinedState()},
		"no join": {message: "has not joined"},
		"unfinished join": {
			state:   change(func(s *joinstate.State) { s.Finished = time.Time{} }),
			message: "the join of this host has not finished",
		},
		"unfinished leave": {
			state:   change(func(s *joinstate.State) { s.Leaving = time.Unix(3, 0) }),
			message: "a leave of this host started",
		},
		"standalone": {
			state:   change(func(s *joinstate.State) { s.Hosted = false }),
			message: "machine-config-daemon upgrades it",
		},
		"resumed":            {state: unfinished},
		"rolled back":        {state: unfinished, options: Options{Rollback: true}},
		"another, too early": {state: unfinished, options: Options{HasInput: true}, message: "has not finished"},
		"staged, too early":  {state: unfinished, options: Options{Stage: true}, message: "has not finished"},
	} {
		err := checkUpgradable(test.state, test.options)
		switch {
		case (err == nil) != (test.message == ""):
			t.Errorf("%s: %v", name, err)
		case err != nil && (report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "" ||
			!strings.Contains(err.Error(), test.message)):
			t.Errorf("%s: %v (code %d, remedy %q)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

// Remedies of the steps that an upgrade shares with a join name the upgrade, with its inputs.
func TestRemediesNameTheUpgrade(t *testing.T) {
	recorder := &reporttest.Recorder{}
	given := config.Defaults()
	given.UserData = "/new.ign"
	options := Options{Options: request.Options{Config: given, Sink: recorder}}.withCompleteRemedies()
	const printed = "hcp-node-agent join --software rpm"
	const want = "hcp-node-agent upgrade --user-data /new.ign --software rpm"
	report.Log{Sink: options.Sink}.Warn("the OS image is not accepted", printed)
	got := []report.Remedy{report.RemedyOf(options.CompleteError(report.Fail(report.Refused, printed, "refused")))}
	for _, event := range recorder.Events() {
		got = append(got, event.Remedy)
	}
	if diff := cmp.Diff([]report.Remedy{want, want}, got); diff != "" {
		t.Errorf("remedies of the error and the event (-want +got):\n%s", diff)
	}
}

// The records of an upgrade lead from the old generation to the new one and back, whenever a run ends.
func TestUpgradeRecordsBothGenerations(t *testing.T) {
	dir := t.TempDir()
	flowtest.NoError(t, joinstate.Write(dir, joinedState()))
	flowtest.NoError(t, joinstate.SaveFile(dir, joinstate.PayloadFile, []byte("payload A")))
	flowtest.NoError(t, joinstate.SaveSoftware(dir, software.Contents{
		Release:  software.Release{Major: 4, Minor: 20},
		Packages: map[string]string{"cri-o": "1.33.5-1.el9", "openvswitch3.4": "3.4.1-1.el9"},
	}))
	r := &run{mayRollBack: true, node: bootstrap.NewFlow(plan.Run{Dir: dir, State: joinedState()}, nil)}
	r.node.UsePayload(payload.Loaded{Payload: &ignition.Payload{Raw: []byte("payload B")}})
	r.node.Software.Contents = &software.Contents{Release: software.Release{Major: 4, Minor: 21}}
	r.node.Run.State.PayloadDigest, r.node.Run.State.ConfigHash = "B", "b"
	if back := r.mustRollBack(t.Context(), errors.New("a check failed")); back {
		t.Error("an upgrade that has changed nothing is rolled back")
	}
	restart := effects.Effects{{Target: "/etc/crio/a", Action: effects.Restart, Unit: systemd.CRIOUnit, Drain: true}}
	flowtest.NoError(t, r.commit(restart))
	check := func(phase joinstate.Phase, digest, payload, to string) {
		t.Helper()
		state, err := joinstate.Read(dir)
		flowtest.NoError(t, err)
		content, err := joinstate.LoadFile(dir, joinstate.PayloadFile)
		flowtest.NoError(t, err)
		if state.Phase() != phase || state.PayloadDigest != digest || string(content) != payload || state.Upgrade.To != to ||
			!state.Upgrade.Effects.Requires(effects.Restart, systemd.CRIOUnit) {
			t.Errorf("phase %s, payload %s %q, upgrade %+v", state.Phase(), state.PayloadDigest, content, state.Upgrade)
		}
	}
	check(joinstate.PhaseUpgrading, "B", "payload B", "4.21")

	// The installed packages are not those of the OS image. A rollback restores them.
	flowtest.NoError(t, r.node.Packages().KeepVersions([]software.Choice{
		{Package: packageOf(t, "crio"), Replaces: &dnf.Package{Name: "cri-o", Version: "1.33.2", Release: "1.el9"}},
		{
			Package:  packageOf(t, "ovs-vsctl"),
			Replaces: &dnf.Package{Name: "openvswitch3.5", Version: "3.5.0", Release: "1.el9"},
		},
	}))

	// A resumed run finds further changes.
	flowtest.NoError(t, r.commit(effects.Effects{{Target: "psi=0", Action: effects.Reboot}}))
	if len(r.node.Run.State.Upgrade.Effects) != 2 || !r.node.Run.State.Upgrade.Requires(effects.Reboot, "") {
		t.Errorf("effects %+v", r.node.Run.State.Upgrade.Effects)
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"failed":        {errors.New("kubelet does not start"), true},
		"interrupted":   {report.Fail(report.Interrupted, "", "interrupted"), false},
		"awaits reboot": {report.Fail(report.RebootNeeded, "", "reboot"), false},
	} {
		if got := r.mustRollBack(t.Context(), test.err); got != test.want {
			t.Errorf("%s: rolled back: %t", name, got)
		}
	}
	r.mayRollBack = false
	if r.mustRollBack(t.Context(), errors.New("the network is not ready")) {
		t.Error("an upgrade is rolled back that fails before it changes anything")
	}
	r.mayRollBack = true
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r.mustRollBack(ended, errors.New("failed")) {
		t.Error("an interrupted upgrade is rolled back")
	}

	flowtest.NoError(t, startRollback(dir, r.node.Run.State, "kubelet does not start"))
	state, err := joinstate.Read(dir)
	flowtest.NoError(t, err)
	back := &run{mayRollBack: true, node: bootstrap.NewFlow(plan.Run{Dir: dir, State: state}, nil)}
	flowtest.NoError(t, back.installGeneration(t.Context()))
	check(joinstate.PhaseUpgrading, "A", "payload A", "4.20")
	contents, err := joinstate.LoadSoftware(dir)
	flowtest.NoError(t, err)
	if diff := cmp.Diff(map[string]string{"cri-o": "1.33.2-1.el9", "openvswitch3.5": "3.5.0-1.el9"},
		contents.Packages); diff != "" {
		t.Errorf("the packages of the rollback (-want +got):\n%s", diff)
	}
	if u := back.node.Run.State.Upgrade; u.RollingBack != "kubelet does not start" || u.From != "4.21" || u.Drain ||
		back.mustRollBack(t.Context(), errors.New("failed")) {
		t.Errorf("rollback %+v", u)
	}
}

// The begin of a drain and its timeout, which the NodePool of a commanded upgrade can set, survive a restart.
func TestResumedDrainKeepsItsTimeout(t *testing.T) {
	began := time.Unix(1_000_000, 0).UTC()
	for name, test := range map[string]struct {
		resumed time.Duration // timeout of the resumed run
		want    joinstate.Upgrade
	}{
		"by the service": {want: joinstate.Upgrade{DrainBegan: began, DrainTimeout: config.Duration(time.Hour)}},
		"with --drain-timeout": {
			resumed: time.Minute,
			want:    joinstate.Upgrade{DrainBegan: began.Add(time.Hour), DrainTimeout: config.Duration(time.Minute)},
		},
	} {
		dir := t.TempDir()
		state := joinedState()
		state.Upgrade = &joinstate.Upgrade{}
		begin := func(timeout time.Duration, now time.Time) *joinstate.Upgrade {
			r := &run{
				node: bootstrap.NewFlow(plan.Run{Dir: dir, State: state}, nil), options: Options{DrainTimeout: timeout},
			}
			flowtest.NoError(t, r.beginDrain(now))
			read, err := joinstate.Read(dir)
			flowtest.NoError(t, err)
			return read.Upgrade
		}
		state.Upgrade = begin(time.Hour, began)
		if diff := cmp.Diff(&test.want, begin(test.resumed, began.Add(time.Hour))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRollbackWithoutUpgradeIsRefused(t *testing.T) {
	if err := startRollback(t.TempDir(), joinedState(), "requested"); report.CodeOf(err) != report.Refused {
		t.Errorf("%v", err)
	}
}

// Everything that takes time or can fail without the node happens while pods run.
func TestStageAndDrainPrecedeTheFirstChange(t *testing.T) {
	var names []string
	for _, step := range Steps() {
		names = append(names, step.Name)
	}
	text := strings.Join(names, " ")
	if want := strings.Join([]string{steps.Validate, steps.Stage, steps.Drain, steps.Packages, steps.Files},
		" "); !strings.Contains(text, want) || len(names) != len(bootstrap.Steps())+2 {
		t.Errorf("steps %s", text)
	}
}

// The same command, repeated after an interruption, resumes the upgrade. Other user data waits for its end.
func TestSameUserDataRepeatsUpgrade(t *testing.T) {
	dir := t.TempDir()
	userDataOf := func(hash string) (string, string) {
		content := flowtest.EncodeUserData(t, "ignition.example.com", "clusters/workers", hash)
		userData, err := ignition.ParseUserData(content)
		flowtest.NoError(t, err)
		digest, err := userData.Digest()
		flowtest.NoError(t, err)
		return flowtest.WriteTempFile(t, content), digest
	}
	same, digest := userDataOf("b")
	other, _ := userDataOf("c")
	state := joinedState()
	state.Upgrade = &joinstate.Upgrade{}
	next := joinstate.NewGeneration(state, map[string][]byte{joinstate.PayloadFile: []byte("payload B")})
	next.PayloadSourceDigest = digest
	flowtest.NoError(t, next.Save(dir, joinstate.NextFile))
	for file, want := range map[string]bool{same: true, other: false} {
		options := Options{Options: request.Options{StateDir: dir, Config: config.Join{UserData: file}}, HasInput: true}
		if got, err := repeatsUpgrade(t.Context(), options, state); err != nil || got != want {
			t.Errorf("%s: repeats the upgrade: %t, %v; want %t", file, got, err, want)
		}
	}
}

// packageOf returns the package of the table that provides a program.
func packageOf(t *testing.T, program string) software.Package {
	t.Helper()
	table, err := software.ReadTable()
	flowtest.NoError(t, err)
	for _, p := range table.Packages {
		if p.Program == program {
			return p
		}
	}
	t.Fatalf("no package provides %s", program)
	return software.Package{}
}

// An upgrade to the installed payload has nothing to return to.
func TestMustRollBack(t *testing.T) {
	failed := errors.New("kubelet did not start")
	for name, test := range map[string]struct {
		upgrade *joinstate.Upgrade
		err     error
		want    bool
	}{
		"another payload":  {&joinstate.Upgrade{}, failed, true},
		"the same payload": {&joinstate.Upgrade{SameGeneration: true}, failed, false},
		"a rollback":       {&joinstate.Upgrade{RollingBack: "failed"}, failed, false},
		"nothing changed":  {nil, failed, false},
		"a reboot": {
			&joinstate.Upgrade{}, report.Fail(report.RebootNeeded, "", "the host must be rebooted"), false,
		},
	} {
		r := &run{
			node:        &bootstrap.Flow{Run: &plan.Run{State: joinstate.State{Upgrade: test.upgrade}}},
			mayRollBack: true,
		}
		if got := r.mustRollBack(t.Context(), test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
