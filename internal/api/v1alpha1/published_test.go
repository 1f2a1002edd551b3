// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

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
