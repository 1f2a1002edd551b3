// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Only a positive timeout of the drain is published, and only such a one is read.
func TestPublishedDrainTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]string{time.Hour: "1h0m0s", 0: "", -time.Hour: ""} {
		object := &metav1.ObjectMeta{Annotations: map[string]string{AnnotationPoolDrainTimeout: "5m"}}
		PublishedState{DrainTimeout: timeout}.WriteTo(object)
		if got := object.Annotations[AnnotationPoolDrainTimeout]; got != want {
			t.Errorf("%s is published as %q", timeout, got)
		}
	}
	for text, want := range map[string]time.Duration{"90m": 90 * time.Minute, "": 0, "-1h": 0, "soon": 0} {
		object := &metav1.ObjectMeta{Annotations: map[string]string{AnnotationPoolDrainTimeout: text}}
		if got := StateOfPublished(object).DrainTimeout; got != want {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

// NodePools have names of up to 253 characters with dots, and label values 63.
func TestNodePoolLabel(t *testing.T) {
	long := strings.Repeat("a", 200)
	seen := map[string]string{}
	for _, name := range []string{
		"workers", "gpu.site-a", strings.Repeat("b", 63), strings.Repeat("b", 64), long, long + "b", long + "c",
		strings.Repeat("c", 45) + "." + strings.Repeat("c", 60), strings.Repeat("a.", 60) + "a",
	} {
		label := NodePoolLabel(name)
		if problems := validation.IsValidLabelValue(label); len(problems) > 0 || seen[label] != "" ||
			(len(name) <= 63) != (label == name) {
			t.Errorf("%s: label %s (%v), which is also that of %q", name, label, problems, seen[label])
		}
		seen[label] = name
		object := &metav1.ObjectMeta{Name: UserDataSecret(name), Labels: map[string]string{LabelNodePool: label}}
		if got := PublishedNodePool(object); got != name {
			t.Errorf("the NodePool of %s is %q", object.Name, got)
		}
		object.Labels[LabelNodePool] = "other"
		if got := PublishedNodePool(object); got != "" {
			t.Errorf("with the label of another NodePool: %q", got)
		}
	}
	for _, object := range []*metav1.ObjectMeta{
		{Name: "user-data-workers"},
		{Name: "workers", Labels: map[string]string{LabelNodePool: "workers"}},
		{Name: "user-data-", Labels: map[string]string{LabelNodePool: ""}},
	} {
		if got := PublishedNodePool(object); got != "" {
			t.Errorf("%+v: %q", object, got)
		}
	}
}
