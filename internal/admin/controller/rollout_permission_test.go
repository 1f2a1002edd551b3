// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// A slot is delivered once. Of one that has ended, or that another replica has revoked, only the ID remains.
func TestWithPermission(t *testing.T) {
	slot := v1alpha1.UpgradeSlot{Node: "a", Config: "new", Given: metav1.NewMicroTime(time.UnixMicro(2))}
	none, offered := v1alpha1.UpgradeSlot{}, offer{secret: "user-data", config: "new"}
	major := offered
	major.allowMajor = true
	annotations := func(config, id string) map[string]string {
		all := map[string]string{"other": "x", v1alpha1.AnnotationUserData: "user-data", v1alpha1.AnnotationNextConfig: "new"}
		if config != "" {
			all[v1alpha1.AnnotationDesiredConfig] = config
		}
		if id != "" {
			all[v1alpha1.AnnotationSlot] = id
		}
		return all
	}
	for name, test := range map[string]struct {
		before   map[string]string
		offered  offer
		slot     v1alpha1.UpgradeSlot
		hasEnded bool
		want     map[string]string
	}{
		"no rollout":            {annotations("new", "2"), offer{}, none, false, map[string]string{"other": "x"}},
		"no slot":               {map[string]string{"other": "x"}, offered, none, false, annotations("", "")},
		"a new slot":            {annotations("", ""), offered, slot, false, annotations("new", "2")},
		"another major version": {annotations("", ""), major, slot, false, withMajor(annotations("new", "2"))},
		"a slot that ends, of another major version": {
			withMajor(annotations("new", "2")), major, slot, true, annotations("", "2"),
		},
		"after a former slot": {annotations("", "1"), offered, slot, false, annotations("new", "2")},
		"a delivered slot":    {annotations("new", "2"), offered, slot, false, annotations("new", "2")},
		"a slot that ends":    {annotations("new", "2"), offered, slot, true, annotations("", "2")},
		"a revoked slot":      {annotations("", "2"), offered, slot, false, annotations("", "2")},
		"a removed slot":      {annotations("", "2"), offered, none, false, annotations("", "")},
	} {
		got := withPermission(test.before, test.offered, test.slot, test.hasEnded)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", name, diff)
		}
	}
}

func withMajor(annotations map[string]string) map[string]string {
	annotations[v1alpha1.AnnotationAllowMajor] = "true"
	return annotations
}
