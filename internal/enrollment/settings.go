// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// kubeletLabels returns the labels that a kubelet may set on its own Node. The others are set by the controller.
func kubeletLabels(labels []string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool {
		key, _, _ := strings.Cut(label, "=")
		return !IsKubeletLabel(key)
	})
}

// IsKubeletLabel reports whether the admission plugin NodeRestriction lets a kubelet set a label on its own Node (its
// getForbiddenLabels, and IsKubeletLabel in k8s.io/kubelet/pkg/apis). OpenShift's also permits
// node-role.kubernetes.io/worker, which the kubelets of OpenShift set anyway.
func IsKubeletLabel(key string) bool {
	domain, _, hasDomain := strings.Cut(key, "/")
	isIn := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	switch {
	case !hasDomain:
		return true
	case isIn("node-restriction.kubernetes.io"):
		return false
	case !isIn("kubernetes.io") && !isIn("k8s.io"), isIn("kubelet.kubernetes.io"), isIn("node.kubernetes.io"):
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceType, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}, key)
}

// setSettings writes labels and taints to a specification.
func setSettings(spec *v1alpha1.NodeEnrollmentSpec, labels, taints []string) {
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		if spec.Labels == nil {
			spec.Labels = map[string]string{}
		}
		spec.Labels[key] = value
	}
	for _, text := range taints {
		setting, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(setting, "=")
		taint := v1alpha1.NodeTaint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		at := slices.IndexFunc(spec.Taints, func(one v1alpha1.NodeTaint) bool {
			return one.Key == taint.Key && one.Effect == taint.Effect
		})
		if at < 0 {
			spec.Taints = append(spec.Taints, taint)
		} else {
			spec.Taints[at] = taint
		}
	}
}

// HasSettings reports whether a NodeEnrollment contains labels and taints.
func HasSettings(object *v1alpha1.NodeEnrollment, labels, taints []string) bool {
	wanted := object.Spec.DeepCopy()
	setSettings(wanted, labels, taints)
	return equality.Semantic.DeepEqual(*wanted, object.Spec)
}

// settingsOf returns the labels and taints of a specification.
func settingsOf(spec v1alpha1.NodeEnrollmentSpec) (labels, taints []string) {
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		labels = append(labels, key+"="+spec.Labels[key])
	}
	for _, one := range spec.Taints {
		taint := corev1.Taint{Key: one.Key, Value: one.Value, Effect: one.Effect}
		taints = append(taints, taint.ToString())
	}
	return labels, taints
}
