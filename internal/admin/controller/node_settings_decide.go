// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// appliedLabels returns the keys of the labels of a Node that were applied with labelOwner.
func appliedLabels(node *corev1.Node) sets.Set[string] {
	keys := sets.New[string]()
	for _, entry := range node.ManagedFields {
		if !isLabelEntry(entry) || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Labels map[string]any `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(entry.FieldsV1.Raw, &fields) != nil { // they are applied again
			continue
		}
		for field := range fields.Metadata.Labels {
			if key, isKey := strings.CutPrefix(field, "f:"); isKey {
				keys.Insert(key)
			}
		}
	}
	return keys
}

// isLabelEntry reports whether managed fields are those of labelOwner.
func isLabelEntry(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == labelOwner && entry.Operation == metav1.ManagedFieldsOperationApply
}

// withTaints returns the taints of a Node after those of an enrollment were set, those of them that the controller has
// set, and those that were applied before and are removed. A taint that existed before, or that others have changed, is
// not the controller's.
func withTaints(
	existing []corev1.Taint, wanted, applied []v1alpha1.NodeTaint,
) (taints []corev1.Taint, set, removed []v1alpha1.NodeTaint) {
	isOf := func(one v1alpha1.NodeTaint, taint corev1.Taint) bool {
		return one.Key == taint.Key && one.Effect == taint.Effect
	}
	for _, taint := range existing {
		one := v1alpha1.NodeTaint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}
		isWanted := slices.ContainsFunc(wanted, func(one v1alpha1.NodeTaint) bool { return isOf(one, taint) })
		if slices.Contains(applied, one) && !isWanted {
			removed = append(removed, one)
			continue
		}
		taints = append(taints, taint)
	}
	for _, one := range wanted {
		at := slices.IndexFunc(taints, func(taint corev1.Taint) bool { return isOf(one, taint) })
		switch {
		case at < 0:
			taints = append(taints, corev1.Taint{Key: one.Key, Value: one.Value, Effect: one.Effect})
		case taints[at].Value != one.Value:
			taints[at].Value = one.Value
		case !slices.Contains(applied, one):
			continue
		}
		set = append(set, one)
	}
	return taints, set, removed
}
