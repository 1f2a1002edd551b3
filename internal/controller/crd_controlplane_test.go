// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

func reinstallPolicy(text string) v1alpha1.ReinstallPolicy { return v1alpha1.ReinstallPolicy(text) }

func TestControlPlaneInvalidEnrollments(t *testing.T) {
	admin := adminClient(t)
	for name, test := range map[string]struct {
		change func(*v1alpha1.NodeEnrollment)
		want   string // part of the error; "" for none
	}{
		"valid": {func(*v1alpha1.NodeEnrollment) {}, ""},
		"the longest name": {
			func(e *v1alpha1.NodeEnrollment) { e.Name = strings.Repeat("n", 63) }, "",
		},
		"a name that is too long": {
			func(e *v1alpha1.NodeEnrollment) { e.Name = strings.Repeat("n", 64) },
			"a node name has at most 63 characters",
		},
		"addresses and networks": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Addresses = []string{"192.0.2.7", "192.0.2.0/24", "2001:db8::7", "2001:db8::/64"}
			}, "",
		},
		"a host name as address": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"host.example.com"} }, "spec.addresses[0]",
		},
		"a prefix that is too long": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"192.0.2.0/2400"} }, "spec.addresses[0]",
		},
		"an address twice": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"192.0.2.7", "192.0.2.7"} }, "Duplicate value",
		},
		"an ID that is not one of a join token": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.TokenID = strings.ToUpper(e.Spec.TokenID) + "A" }, "spec.tokenID",
		},
		"a private key": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.PublicKey = strings.ReplaceAll(e.Spec.PublicKey, "PUBLIC", "PRIVATE")
			}, "spec.publicKey",
		},
		"a taint with an invalid key": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Taints = []v1alpha1.NodeTaint{{Key: "a..b/c", Effect: "NoSchedule"}}
			}, "spec.taints[0].key",
		},
		"a taint with an invalid value": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Taints = []v1alpha1.NodeTaint{{Key: "a", Value: "b c", Effect: "NoSchedule"}}
			}, "spec.taints[0].value",
		},
		"taints": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Taints = []v1alpha1.NodeTaint{
					{Key: "example.com/a", Value: "b", Effect: "NoSchedule"}, {Key: "a", Effect: "NoExecute"},
				}
			}, "",
		},
		"no cluster": {func(e *v1alpha1.NodeEnrollment) { e.Spec.ClusterCA = nil }, "spec.clusterCA"},
		"another hash": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.ClusterCA = []string{"MD5:00"} }, "spec.clusterCA[0]",
		},
		"an unknown policy": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Reinstall = "Maybe" }, "spec.reinstall",
		},
	} {
		_, object := newEnrollment(t, "crd", csrtest.ClusterCA(t))
		test.change(object)
		err := admin.Create(t.Context(), object, client.DryRunAll)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestControlPlaneImmutableEnrollment(t *testing.T) {
	admin := adminClient(t)
	_, created := newEnrollment(t, "immutable", csrtest.ClusterCA(t))
	created.Spec.Reinstall = ""
	created.Status.BoundKey = "SHA256:forged"
	create(t, created)
	_, other := newEnrollment(t, "immutable", csrtest.OtherCA(t))
	if got := getEnrollment(t, "immutable"); got.Spec.Reinstall != "Refuse" || got.Status.BoundKey != "" {
		t.Errorf("created as %+v", got)
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.NodeEnrollment)
		want   string // part of the error; "" for none
	}{
		"tokenID": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.TokenID = other.Spec.TokenID },
			"a new join token needs a new NodeEnrollment",
		},
		"publicKey": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.PublicKey = other.Spec.PublicKey },
			"a new key needs a new NodeEnrollment",
		},
		"clusterCA": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.ClusterCA = other.Spec.ClusterCA },
			"another cluster needs a new NodeEnrollment",
		},
		"one more CA": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.ClusterCA = append(e.Spec.ClusterCA, other.Spec.ClusterCA...) },
			"another cluster needs a new NodeEnrollment",
		},
		"no tokenID": {func(e *v1alpha1.NodeEnrollment) { e.Spec.TokenID = "" }, "spec.tokenID"},
		"expires": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Expires = metav1.NewTime(time.Now().Add(2 * time.Hour)) }, "",
		},
		"addresses": {func(e *v1alpha1.NodeEnrollment) { e.Spec.Addresses = []string{"192.0.2.0/24"} }, ""},
		"reinstall": {func(e *v1alpha1.NodeEnrollment) { e.Spec.Reinstall = v1alpha1.ReinstallAllow }, ""},
	} {
		object := getEnrollment(t, "immutable")
		test.change(object)
		err := admin.Update(t.Context(), object, client.DryRunAll)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestControlPlaneInvalidRollouts(t *testing.T) {
	number := func(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }
	window := v1alpha1.MaintenanceWindow{Schedule: "0 1 * * SAT", Duration: metav1.Duration{Duration: time.Hour}}
	hourly := window
	hourly.Schedule = " @hourly"
	inZone := window
	inZone.Schedule = "CRON_TZ=UTC 0 1 * * SAT"
	for name, test := range map[string]struct {
		spec v1alpha1.NodeRolloutSpec
		want string // part of the error; "" for none
	}{
		"empty":                {v1alpha1.NodeRolloutSpec{}, ""},
		"number":               {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("3")}, ""},
		"percentage":           {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("5%")}, ""},
		"all":                  {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("100%")}, ""},
		"zero":                 {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("0")}, "positive number"},
		"zero percent":         {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("0%")}, "positive number"},
		"too many percent":     {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("101%")}, "positive number"},
		"a word":               {v1alpha1.NodeRolloutSpec{MaxUnavailable: number("many")}, "positive number"},
		"a negative limit":     {v1alpha1.NodeRolloutSpec{MaxFailures: -1}, "spec.maxFailures"},
		"window":               {v1alpha1.NodeRolloutSpec{Window: &window}, ""},
		"a descriptor":         {v1alpha1.NodeRolloutSpec{Window: &hourly}, "the five fields of cron"},
		"time zone in another": {v1alpha1.NodeRolloutSpec{Window: &inZone}, "the time zone is in timeZone"},
	} {
		object := &v1alpha1.NodeRollout{ObjectMeta: metav1.ObjectMeta{Name: "crd"}, Spec: test.spec}
		err := adminClient(t).Create(t.Context(), object, client.DryRunAll)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

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
	rollout := func() *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"window": map[string]any{"schedule": "0 1 * * SAT", "duration": "1h"},
		}}}
		object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeRollout"))
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
		check(rollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "slotTimeout")
		check(rollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "window", "duration")
	}
	for _, value := range numbers {
		check(rollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "maxUnavailable")
		check(rollout(), whole(value), &v1alpha1.NodeRollout{}, "spec", "maxFailures")
	}
	for _, value := range times {
		_, typed := newEnrollment(t, "decodable", csrtest.ClusterCA(t))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(object.Object, "status")
		check(object, whole(value), &v1alpha1.NodeEnrollment{}, "spec", "expires")
	}
	if accepted < 20 {
		t.Errorf("only %d values are accepted", accepted)
	}
}
