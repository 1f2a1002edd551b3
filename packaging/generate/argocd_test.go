// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// health is the result of a health check.
type health struct{ status, message string }

// checkHealth runs the health check of a kind, in the interpreter of Argo CD.
func checkHealth(t *testing.T, kind string, object any) health {
	t.Helper()
	content, err := os.ReadFile(checkout + "/examples/argocd/argocd-cm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &settings); err != nil {
		t.Fatal(err)
	}
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true}) // Argo CD opens these libraries
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", luaValue(state, value))
	if err := state.DoString(settings.Data["resource.customizations.health.hcp-node-agent.io_"+kind]); err != nil {
		t.Fatal(err)
	}
	result, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("the health check of %s returns %v", kind, state.Get(-1))
	}
	return health{lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))}
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range value {
			table.RawSetString(key, luaValue(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range value {
			table.Append(luaValue(state, element))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	}
	return lua.LNil
}

func TestArgoCDHealthOfEnrollments(t *testing.T) {
	want := map[v1alpha1.Phase]string{
		"": "Suspended", v1alpha1.PhasePending: "Suspended", v1alpha1.PhaseEnrolled: "Progressing",
		v1alpha1.PhaseJoined: "Progressing", v1alpha1.PhaseUpgrading: "Progressing", v1alpha1.PhaseReady: "Healthy",
		v1alpha1.PhaseDegraded: "Degraded", v1alpha1.PhaseDrifted: "Degraded", v1alpha1.PhaseFailed: "Degraded",
		v1alpha1.PhaseLost: "Degraded", "Unheard": "Unknown",
	}
	for _, phase := range append(v1alpha1.Phases(), "", "Unheard") {
		object := &v1alpha1.NodeEnrollment{Status: v1alpha1.NodeEnrollmentStatus{Phase: phase, Reason: "x is down"}}
		if got := checkHealth(t, "NodeEnrollment", object); got.status != want[phase] {
			t.Errorf("phase %q: %+v, want %s", phase, got, want[phase])
		}
	}
	object := &v1alpha1.NodeEnrollment{Status: v1alpha1.NodeEnrollmentStatus{Phase: v1alpha1.PhaseLost, Reason: "gone"}}
	if got := checkHealth(t, "NodeEnrollment", object).message; got != "Lost: gone" {
		t.Errorf("the message is %q", got)
	}
}

func TestArgoCDHealthOfRollouts(t *testing.T) {
	for name, test := range map[string]struct {
		true       []string // types of the conditions
		generation int64    // that the controller has observed
		want       health
	}{
		"new":           {nil, 2, health{"Progressing", "waiting"}},
		"progressing":   {[]string{v1alpha1.ConditionProgressing}, 2, health{"Progressing", "because Progressing"}},
		"paused":        {[]string{v1alpha1.ConditionPaused}, 2, health{"Suspended", "because Paused"}},
		"completed":     {[]string{v1alpha1.ConditionCompleted}, 2, health{"Healthy", "because Completed"}},
		"changed since": {[]string{v1alpha1.ConditionCompleted}, 1, health{"Progressing", "waiting"}},
		"completed, paused": {
			[]string{v1alpha1.ConditionCompleted, v1alpha1.ConditionPaused}, 2, health{"Healthy", "because Completed"},
		},
		"failures while nodes are upgraded": {
			[]string{v1alpha1.ConditionProgressing, v1alpha1.ConditionDegraded}, 2, health{"Degraded", "because Degraded"},
		},
	} {
		object := &v1alpha1.NodeRollout{Status: v1alpha1.NodeRolloutStatus{Waiting: "waiting"}}
		object.Generation = 2
		for _, kind := range []string{
			v1alpha1.ConditionCompleted, v1alpha1.ConditionProgressing, v1alpha1.ConditionPaused, v1alpha1.ConditionDegraded,
		} {
			condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: test.generation}
			for _, one := range test.true {
				if one == kind {
					condition.Status, condition.Message = metav1.ConditionTrue, "because "+kind
				}
			}
			object.Status.Conditions = append(object.Status.Conditions, condition)
		}
		if diff := cmp.Diff(test.want, checkHealth(t, "NodeRollout", object), cmp.AllowUnexported(health{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestArgoCDHealthOfRemediations(t *testing.T) {
	for name, test := range map[string]struct {
		blocked metav1.ConditionStatus
		want    health
	}{
		"new":         {"", health{"Healthy", "waiting"}},
		"not blocked": {metav1.ConditionFalse, health{"Healthy", "waiting"}},
		"blocked":     {metav1.ConditionTrue, health{"Degraded", "2 of 3 nodes are unresponsive"}},
	} {
		object := &v1alpha1.NodeRemediation{Status: v1alpha1.NodeRemediationStatus{Waiting: "waiting"}}
		if test.blocked != "" {
			object.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionBlocked, Status: test.blocked, Message: "2 of 3 nodes are unresponsive",
			}}
		}
		got := checkHealth(t, "NodeRemediation", object)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(health{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
