// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// stepEnd describes how a step of a script ends.
type stepEnd struct {
	outcome steps.Outcome
	err     error
}

// scriptedSteps returns steps that record their names and end as specified, or
// successfully.
func scriptedSteps(ran *[]string, ends map[string]stepEnd) []Step {
	list := Steps()
	for i := range list {
		name := list[i].Name
		list[i].Run = func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
			*ran = append(*ran, name)
			if end, scripted := ends[name]; scripted {
				return end.outcome, end.err
			}
			return steps.Unchanged("fine")
		}
	}
	return list
}

// Each step of a join has a function.
func TestStepsHaveFunctions(t *testing.T) {
	for _, step := range Steps() {
		if step.Run == nil {
			t.Errorf("step %s has no function", step.Name)
		}
	}
}

func stepNames() []string {
	var list []string
	for _, step := range Steps() {
		list = append(list, step.Name)
	}
	return list
}

func TestRunExecutesStepsInOrder(t *testing.T) {
	all := stepNames()
	until := func(name string) []string {
		for i := range all {
			if all[i] == name {
				return all[:i+1]
			}
		}
		return nil
	}
	withoutTwo := slices.DeleteFunc(slices.Clone(until("client-certificate")), func(name string) bool {
		return name == "network" || name == "preflight"
	})
	for name, test := range map[string]struct {
		config config.Join
		want   []string
	}{
		"all":                   {config.Join{Until: "schedulable"}, all},
		"to client-certificate": {config.Join{Until: "client-certificate"}, until("client-certificate")},
		"to kubelet":            {config.Join{Until: "kubelet"}, until("kubelet")},
		"to ready":              {config.Join{Until: "ready"}, until("ready")},
		"without two": {
			config.Join{Until: "client-certificate", Skip: []string{"network", "preflight"}}, withoutTwo,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			j := NewFlow(plan.Run{Request: request.Request{Config: test.config}, Dir: t.TempDir()},
				&machine.Machine{Ledger: &ledger.Ledger{}})
			record := newJoinRecord(j.Run, j.Host)
			did, err := steps.Run(t.Context(), record.runner(), scriptedSteps(&ran, nil), j)
			if err != nil || did {
				t.Errorf("changed %t, %v", did, err)
			}
			if diff := cmp.Diff(test.want, ran); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			state, err := joinstate.Read(j.Run.Dir)
			if err != nil || state.LastStep != test.want[len(test.want)-1] {
				t.Errorf("remembered %q, %v", state.LastStep, err)
			}
			names := slices.Sorted(maps.Keys(record.durations))
			if !slices.Equal(names, slices.Sorted(slices.Values(test.want))) {
				t.Errorf("durations of %q, want those of %q", names, test.want)
			}
		})
	}
}

func TestRunReportsHowEachStepEnded(t *testing.T) {
	var ran []string
	var logged flowtest.Events
	j := NewFlow(
		plan.Run{
			Request: request.Request{Config: config.Join{Until: "client-certificate", Skip: []string{"packages"}}},
			Dir:     t.TempDir(),
			Sink:    &logged,
		},
		&machine.Machine{Ledger: &ledger.Ledger{}},
	)
	list := scriptedSteps(&ran, map[string]stepEnd{
		"fetch": {outcome: steps.Outcome{Summary: "80 files", Changed: true}},
		"files": {err: errors.New("disk is full")},
	})
	did, err := steps.Run(t.Context(), newJoinRecord(j.Run, j.Host).runner(), list, j)
	if !did || err == nil || err.Error() != "files: disk is full" {
		t.Errorf("changed %t, %v", did, err)
	}
	want := flowtest.Events{
		"started preflight", "unchanged preflight fine", "started fetch", "ok fetch 80 files", "started plan",
		"unchanged plan fine",
		"started validate", "unchanged validate fine", "started packages", "skipped packages skipped on request",
		"started files", "failed files disk is full",
	}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if state, err := joinstate.Read(j.Run.Dir); err != nil || state.LastStep != "validate" {
		t.Errorf("remembered %q, %v: the step that failed is not behind us", state.LastStep, err)
	}
}

func TestFailureOfAStepKeepsCodeAndRemedy(t *testing.T) {
	cause := errors.New("cause")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	const again = "# run the same command again to resume"
	for name, test := range map[string]struct {
		ctx    context.Context
		err    error
		text   string
		code   report.Code
		remedy report.Remedy
	}{
		"plain": {t.Context(), cause, "fetch: cause", report.Failed, ""},
		"with one": {
			t.Context(), report.Fail(report.CredentialRefused, "get user data", "refused: %w", cause), "fetch: refused: cause",
			report.CredentialRefused, "get user data",
		},
		"wrapped": {
			t.Context(), fmt.Errorf("asking: %w", report.Fail(report.ApprovalMissing, "approve", "%w", cause)),
			"fetch: asking: cause", report.ApprovalMissing, "approve",
		},
		"interrupted": {
			canceled, fmt.Errorf("asking: %w", errors.Join(cause, context.Canceled)),
			"fetch: interrupted: asking: cause\ncontext canceled", report.Interrupted, again,
		},
		"interrupted, and the step has words for it": {
			canceled, report.Fail(report.NetworkRolledBack, "look at the cable", "rolled back: %w", cause),
			"fetch: rolled back: cause", report.NetworkRolledBack, "look at the cable",
		},
		"time is over": {
			late, cause, "fetch: join timed out: cause", report.Failed, again + "; use --timeout DURATION to wait longer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			recorder := &report.Recorder{}
			j := NewFlow(plan.Run{Dir: t.TempDir(), Sink: recorder}, &machine.Machine{Ledger: &ledger.Ledger{}})
			_, err := steps.Run(test.ctx, newJoinRecord(j.Run, j.Host).runner(), scriptedSteps(&ran, map[string]stepEnd{
				"fetch": {err: test.err},
			}), j)
			if err == nil || err.Error() != test.text || report.CodeOf(err) != test.code || report.RemedyOf(err) != test.remedy {
				t.Errorf("error %q, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
			if !errors.Is(err, cause) {
				t.Error("the cause is lost")
			}
			last := recorder.Steps[len(recorder.Steps)-1]
			if last.Result != report.StatusFailed || last.Remedy != test.remedy || "fetch: "+last.Message != test.text {
				t.Errorf("recorded %+v", last)
			}
		})
	}
}

// The steps that cannot be skipped have results that later steps require.
func TestSkipValuesAreStepsInOrder(t *testing.T) {
	want := slices.DeleteFunc(stepNames(), func(name string) bool { return name == steps.Fetch || name == steps.Plan })
	if diff := cmp.Diff(want, steps.SkipValues()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every value of --until must be reached by exactly one step, in order.
func TestUntilValuesAreStepsInOrder(t *testing.T) {
	var states []string
	seen := map[string]bool{}
	for _, step := range Steps() {
		if seen[step.Name] || step.Description == "" || step.Run == nil {
			t.Errorf("step %+v is twice there, or says and does nothing", step)
		}
		seen[step.Name] = true
		if slices.Contains(steps.UntilValues(), step.Name) {
			states = append(states, step.Name)
		}
	}
	if diff := cmp.Diff(steps.UntilValues(), states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	words := map[string]bool{}
	for _, until := range states {
		words[stateReached(until)] = true
	}
	if len(words) != len(states) {
		t.Errorf("not every end of a join has its own words: %v", words)
	}
}
