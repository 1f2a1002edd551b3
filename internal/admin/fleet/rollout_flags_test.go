// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A flag that is given changes its own field only, and removes a setting if it has no value.
func TestRolloutFlags(t *testing.T) {
	before := v1alpha1.NodeRolloutSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(2)), MaxFailures: 3, Paused: true,
		Canary:      &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		SlotTimeout: &metav1.Duration{Duration: time.Hour},
		Window:      &v1alpha1.MaintenanceWindow{Schedule: "0 1 * * *", Duration: metav1.Duration{Duration: time.Hour}},
	}
	for name, test := range map[string]struct {
		flags RolloutFlags
		set   string
		want  func(*v1alpha1.NodeRolloutSpec)
	}{
		"percentage": {
			RolloutFlags{MaxUnavailable: "10%"},
			"max-unavailable",
			func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxUnavailable = ptr.To(intstr.FromString("10%")) },
		},
		"resume": {RolloutFlags{Resume: true}, "resume", func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = false }},
		"allow-major": {
			RolloutFlags{AllowMajor: true}, "allow-major", func(spec *v1alpha1.NodeRolloutSpec) { spec.AllowMajor = true },
		},
		"no limit": {
			RolloutFlags{},
			"max-unavailable",
			func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxUnavailable = nil },
		},
		"no canary":   {RolloutFlags{}, "canary", func(spec *v1alpha1.NodeRolloutSpec) { spec.Canary = nil }},
		"no window":   {RolloutFlags{}, "window", func(spec *v1alpha1.NodeRolloutSpec) { spec.Window = nil }},
		"no timeout":  {RolloutFlags{}, "slot-timeout", func(spec *v1alpha1.NodeRolloutSpec) { spec.SlotTimeout = nil }},
		"no failures": {RolloutFlags{}, "max-failures", func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxFailures = 0 }},
		"window and canary": {
			RolloutFlags{Window: "0 2 * * SAT", WindowDuration: 4 * time.Hour, TimeZone: "Europe/Berlin", Canary: "c=d"},
			"window window-duration time-zone canary",
			func(spec *v1alpha1.NodeRolloutSpec) {
				spec.Window = &v1alpha1.MaintenanceWindow{
					Schedule: "0 2 * * SAT", Duration: metav1.Duration{Duration: 4 * time.Hour}, TimeZone: "Europe/Berlin",
				}
				spec.Canary, _ = metav1.ParseToLabelSelector("c=d")
			},
		},
		"start": {RolloutFlags{Start: true}, "start", func(*v1alpha1.NodeRolloutSpec) {}},
	} {
		got, want := before.DeepCopy(), before.DeepCopy()
		change, err := test.flags.Change(func(flag string) bool { return slices.Contains(strings.Fields(test.set), flag) })
		if err != nil || change == nil {
			t.Errorf("%s: no change, %v", name, err)
			continue
		}
		change(got)
		test.want(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRolloutFlagsWithoutChange(t *testing.T) {
	none := func(string) bool { return false }
	if change, err := (RolloutFlags{}).Change(none); change != nil || err != nil {
		t.Errorf("without flags: a change %t, %v", change != nil, err)
	}
	for _, flags := range []RolloutFlags{
		{MaxUnavailable: "0"},
		{MaxUnavailable: "101%"},
		{Canary: "a in"},
		{TimeZone: "UTC"},
		{WindowDuration: time.Hour},
		{Window: "0 1 * * *"},
		{Window: "X", WindowDuration: time.Hour},
	} {
		if _, err := flags.Change(none); report.CodeOf(err) != report.Usage {
			t.Errorf("%+v: %v", flags, err)
		}
	}
}
