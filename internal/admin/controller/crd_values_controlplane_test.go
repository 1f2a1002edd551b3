// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// Each value that the API server accepts can be decoded: one object that cannot ends the controller.
func TestControlPlaneAcceptedObjectsAreDecodable(t *testing.T) {
	admin := adminClient(t)
	durations := []any{
		"1h", "1h30m", "0.5h", "90s", "1µs", "+1h", "-1h", "0", "0s", "", "1", 1, "1d", "1 hour", "4 hours", "1H", ".h", "h",
		"9999999h", "2562047h", "2562048h", "1h ", " 1h", "1e3s", "1.5.2h", "١h", "PT1H", "∞",
	}
	numbers := []any{
		0, 1, 2147483647, int64(2147483648), int64(3_000_000_000), int64(-2147483649), 1.5, "1", "5%", "+5%", "100%", " 5%",
		"5 %", "5.5%", "%", "", "2147483648", true,
	}
	times := []any{
		"2027-01-01T00:00:00Z", "2027-01-01t00:00:00z", "2027-01-01T00:00:00z", "2027-01-01 00:00:00Z", "2027-01-01",
		"2027-01-01T00:00:00.5Z", "2027-01-01T00:00:00,5Z", "2027-01-01T00:00:00.123456789123Z", "2027-01-01T00:00:60Z",
		"2027-01-01T24:00:00Z", "2027-02-30T00:00:00Z", "2027-13-01T00:00:00Z", "2027-01-01T00:00:00+24:00",
		"2027-01-01T00:00:00+02:00", "2027-01-01T00:00:00+0200", "2027-01-01T00:00:00-00:00", "2027-01-01T00:00Z",
		"2027-01-01T00:00:00.123456Z", "2027-01-01T00:00:00.123456+02:00", "2027-01-01T00:00:00.12345Z",
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "10000-01-01T00:00:00Z", "2027-01-01T0:00:00Z", "", 0,
	}
	decode := func(object *unstructured.Unstructured, into any) error {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return json.Unmarshal(content, into)
	}
	accepted := 0
	check := func(object *unstructured.Unstructured, value any, into any, fields ...string) {
		t.Helper()
		if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
			t.Fatal(err)
		}
		if admin.Create(t.Context(), object, client.DryRunAll) != nil {
			return
		}
		accepted++
		if err := decode(object, into); err != nil {
			t.Errorf("%s %#v is accepted: %v", fields, value, err)
		}
	}
	newRollout := func() *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"window": map[string]any{"schedule": "0 1 * * SAT", "duration": "1h"},
		}}}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeRollout"))
		object.SetName("decodable")
		return object
	}
	newRemediation := func() *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"action": "Taint"}}}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeRemediation"))
		object.SetName("decodable")
		return object
	}
	whole := func(value any) any { // unstructured objects have no int
		if number, isInt := value.(int); isInt {
			return int64(number)
		}
		return value
	}
	for _, value := range durations {
		check(newRollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "slotTimeout")
		check(newRollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "window", "duration")
		check(newRemediation(), whole(value), &v1alpha1.NodeRemediation{}, "spec", "after")
	}
	for _, value := range numbers {
		check(newRollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "maxUnavailable")
		check(newRollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "maxFailures")
		check(newRemediation(), whole(value), &v1alpha1.NodeRemediation{}, "spec", "maxUnhealthy")
	}
	for _, value := range times {
		_, typed := newEnrollment(t, "decodable", csrtest.ClusterCA(t))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(object.Object, "status")
		check(object.DeepCopy(), whole(value), &v1alpha1.NodeEnrollment{}, "spec", "expires")
		use := map[string]any{"key": "SHA256:00", "at": whole(value)}
		check(object, use, &v1alpha1.NodeEnrollment{}, "spec", "usedBy")
		for field, name := range map[string]string{"retries": "failedAt", "endedSlots": "given"} {
			entries := []any{map[string]any{"node": "worker-1", name: whole(value)}}
			check(newRollout(), entries, &v1alpha1.NodeRollout{}, "spec", field)
		}
	}
	if accepted < 20 {
		t.Errorf("only %d values are accepted", accepted)
	}
}

// The API server refuses what is not five fields of cron, and no valid schedule. A problem in a field is in the
// conditions of the NodeRollout.
func TestControlPlaneSchedules(t *testing.T) {
	for schedule, want := range map[string]struct{ isAccepted, isValid bool }{
		"0 1 * * SAT": {true, true}, "*/15 * * * *": {true, true}, "0 0-4/2,22 1,15 1-3 mon-fri": {true, true},
		"0 1 ? * ?": {true, true}, "5 04 01 12 Sun": {true, true}, "0  1 * * 0": {true, true},
		"": {}, "* * * *": {}, "* * * * * *": {}, "0 1 * * MON#2": {}, "@daily": {}, "TZ=UTC 0 1 * * *": {},
		"0 1 * * *\n": {false, true}, "0\t1 * * SAT *": {}, "0 1 * * SAT;": {},
		"60 1 * * *": {true, false}, "0 24 * * *": {true, false}, "0 1 * * 7": {true, false}, "0 1 L * *": {true, false},
		"*/0 * * * *": {true, false}, "0 0 30 2 *": {true, false},
	} {
		object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "schedule"}}
		object.Spec.Window = &v1alpha1.MaintenanceWindow{
			Schedule: schedule, Duration: metav1.Duration{Duration: time.Hour},
		}
		err := adminClient(t).Create(t.Context(), object, client.DryRunAll)
		_, invalid := rollout.NewWindow(schedule, "", time.Hour)
		if (err == nil) != want.isAccepted || (invalid == nil) != want.isValid {
			t.Errorf("%q: the API server says %v, the controller %v", schedule, err, invalid)
		}
	}
}
