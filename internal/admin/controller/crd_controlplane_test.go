// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		"labels": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Labels = map[string]string{
					"example.com/a": "b", "node-role.kubernetes.io/infra": "", "a.b_c-d": "1.2_3-x",
				}
			}, "",
		},
		"a label with an invalid key": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Labels = map[string]string{"a": "b", "a..b/c": "d"} },
			"the key of a label",
		},
		"a label whose key has two prefixes": {
			func(e *v1alpha1.NodeEnrollment) { e.Spec.Labels = map[string]string{"a/b/c": "d"} }, "the key of a label",
		},
		"a label with a long name": {
			func(e *v1alpha1.NodeEnrollment) {
				e.Spec.Labels = map[string]string{"example.com/" + strings.Repeat("n", 64): "d"}
			}, "the key of a label",
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
	created.Status.Phase = v1alpha1.PhaseReady
	create(t, created)
	_, other := newEnrollment(t, "immutable", csrtest.OtherCA(t))
	if got := getEnrollment(t, "immutable"); got.Spec.Reinstall != "Refuse" || got.Status.Phase != "" {
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

// The use of a join token is recorded once, also where manifests are applied again.
func TestControlPlaneRecordedUse(t *testing.T) {
	_, object := newEnrollment(t, "recorded", csrtest.ClusterCA(t))
	manifest := object.DeepCopy()
	create(t, object)
	change(t, object, func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy = usedBy("SHA256:00") })
	for name, apply := range map[string]func(*v1alpha1.NodeEnrollment){
		"another key":  func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy.Key = "SHA256:01" },
		"another time": func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy.At = metav1.NewTime(time.Unix(2e9, 0)) },
		"removed":      func(e *v1alpha1.NodeEnrollment) { e.Spec.UsedBy = nil },
		"replaced":     func(e *v1alpha1.NodeEnrollment) { e.Spec = manifest.Spec },
	} {
		changed := getEnrollment(t, "recorded")
		apply(changed)
		err := adminClient(t).Update(t.Context(), changed)
		if err == nil || !strings.Contains(err.Error(), "a new join token needs a new NodeEnrollment") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := getEnrollment(t, "recorded")
	again.Spec.Reinstall, again.Spec.UsedBy.Key = v1alpha1.ReinstallAllowSameToken, "SHA256:01"
	if err := adminClient(t).Update(t.Context(), again.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("another key of a reinstalled host: %v", err)
	}
	again.Spec.UsedBy = nil
	if err := adminClient(t).Update(t.Context(), again, client.DryRunAll); err == nil {
		t.Error("the use is removed")
	}
	for _, key := range []string{"", "00", "SHA256:", "SHA256:x", "MD5:00"} {
		invalid := manifest.DeepCopy()
		invalid.Spec.UsedBy = usedBy(key)
		err := adminClient(t).Create(t.Context(), invalid, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "spec.usedBy.key") {
			t.Errorf("key %q: %v", key, err)
		}
	}
	manifest.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeEnrollment"}
	manifest.Spec.NodePool = "workers"
	content, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	applied := client.RawPatch(types.ApplyPatchType, content)
	if err := adminClient(t).Patch(t.Context(), manifest.DeepCopy(), applied, client.FieldOwner("gitops"),
		client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	if got := getEnrollment(t, "recorded").Spec; got.NodePool != "workers" || got.UsedBy == nil {
		t.Errorf("after the manifest was applied again: %+v", got)
	}
}

func TestControlPlaneInvalidRemediations(t *testing.T) {
	number := func(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }
	spec := func(change func(*v1alpha1.NodeRemediationSpec)) v1alpha1.NodeRemediationSpec {
		s := v1alpha1.NodeRemediationSpec{Action: v1alpha1.RemediationTaint}
		change(&s)
		return s
	}
	after := func(duration time.Duration) v1alpha1.NodeRemediationSpec {
		return spec(func(s *v1alpha1.NodeRemediationSpec) { s.After.Duration = duration })
	}
	unhealthy := func(text string) v1alpha1.NodeRemediationSpec {
		return spec(func(s *v1alpha1.NodeRemediationSpec) { s.MaxUnhealthy = number(text) })
	}
	for name, test := range map[string]struct {
		spec v1alpha1.NodeRemediationSpec
		want string // part of the error; "" for none
	}{
		"taint":           {spec(func(*v1alpha1.NodeRemediationSpec) {}), ""},
		"delete":          {spec(func(s *v1alpha1.NodeRemediationSpec) { s.Action = v1alpha1.RemediationDelete }), ""},
		"no action":       {v1alpha1.NodeRemediationSpec{}, "spec.action"},
		"another action":  {spec(func(s *v1alpha1.NodeRemediationSpec) { s.Action = "Reboot" }), "spec.action"},
		"shortest time":   {after(5 * time.Minute), ""},
		"too short":       {after(5*time.Minute - time.Second), "after is a duration from 5m to 720h"},
		"negative":        {after(-time.Hour), "after is a duration from 5m to 720h"},
		"longest time":    {after(720 * time.Hour), ""},
		"too long":        {after(720*time.Hour + time.Second), "after is a duration from 5m to 720h"},
		"number":          {unhealthy("3"), ""},
		"percentage":      {unhealthy("5%"), ""},
		"no node":         {unhealthy("0"), "positive number"},
		"a negative one":  {unhealthy("-1"), "positive number"},
		"too many":        {unhealthy("101%"), "positive number"},
		"a word":          {unhealthy("many"), "positive number"},
		"a part of a one": {unhealthy("0.5%"), "positive number"},
	} {
		object := &v1alpha1.NodeRemediation{ObjectMeta: metav1.ObjectMeta{Name: "crd"}, Spec: test.spec}
		err := adminClient(t).Create(t.Context(), object, client.DryRunAll)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if got := object.Spec; name == "taint" && (got.After.Duration != 10*time.Minute || got.MaxUnhealthy.IntVal != 1) {
			t.Errorf("the defaults are %+v", got)
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
