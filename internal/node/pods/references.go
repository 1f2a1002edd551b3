// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Reference is a Secret or ConfigMap that a pod of this node refers to.
type Reference struct {
	Kind      string // Secret, ConfigMap
	Namespace string
	Name      string
	Optional  bool // the pod starts without it
}

func (r Reference) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// AwaitsObjects reports whether a missing object can be the reason why a pod is
// not up.
func AwaitsObjects(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if _, isStatic := pod.Annotations[corev1.MirrorPodAnnotationKey]; isStatic {
		return false // it comes from a file and must not refer to objects
	}
	return pod.Status.Phase == corev1.PodPending ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return !c.Ready })
}

// References returns the objects that a pod refers to.
func References(pod *corev1.Pod) []Reference {
	var all []Reference
	add := func(kind, name string, optional *bool) {
		if name != "" {
			all = append(all, Reference{
				Kind:      kind,
				Namespace: pod.Namespace,
				Name:      name,
				Optional:  optional != nil && *optional,
			})
		}
	}
	for i := range pod.Spec.Volumes {
		volumeReferences(&pod.Spec.Volumes[i].VolumeSource, add)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			environmentReferences(&containers[i], add)
		}
	}
	yes := true // kubelet pulls without it, and reports that only in an Event
	for _, secret := range pod.Spec.ImagePullSecrets {
		add("Secret", secret.Name, &yes)
	}
	return all
}

func volumeReferences(volume *corev1.VolumeSource, add func(kind, name string, optional *bool)) {
	switch {
	case volume.Secret != nil:
		add("Secret", volume.Secret.SecretName, volume.Secret.Optional)
	case volume.ConfigMap != nil:
		add("ConfigMap", volume.ConfigMap.Name, volume.ConfigMap.Optional)
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				add("Secret", source.Secret.Name, source.Secret.Optional)
			}
			if source.ConfigMap != nil {
				add("ConfigMap", source.ConfigMap.Name, source.ConfigMap.Optional)
			}
		}
	}
}

func environmentReferences(container *corev1.Container, add func(kind, name string, optional *bool)) {
	for _, from := range container.EnvFrom {
		if from.SecretRef != nil {
			add("Secret", from.SecretRef.Name, from.SecretRef.Optional)
		}
		if from.ConfigMapRef != nil {
			add("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
	}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			continue
		}
		if ref := variable.ValueFrom.SecretKeyRef; ref != nil {
			add("Secret", ref.Name, ref.Optional)
		}
		if ref := variable.ValueFrom.ConfigMapKeyRef; ref != nil {
			add("ConfigMap", ref.Name, ref.Optional)
		}
	}
}
