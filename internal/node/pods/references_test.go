// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReferences(t *testing.T) {
	yes := true
	spec := corev1.PodSpec{
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		InitContainers:   []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "plain", Value: "x"},
			{Name: "key", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keyed"}, Optional: &yes}}},
		}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "files"}}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "projected"}}},
			}}}},
		},
	}
	var got []string
	for _, r := range References(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Spec: spec}) {
		text := r.String()
		if r.Optional {
			text += "?"
		}
		got = append(got, text)
	}
	const want = "ConfigMap n/files, ConfigMap n/kube-root-ca.crt, Secret n/projected, Secret n/env, ConfigMap " +
		"n/keyed?, Secret n/pull?"
	if strings.Join(got, ", ") != want {
		t.Errorf("references() = %s\nwant %s", strings.Join(got, ", "), want)
	}
}
