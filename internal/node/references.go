package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// reference is a Secret or ConfigMap that a pod of this node refers to.
type reference struct {
	kind      string // Secret, ConfigMap
	namespace string
	name      string
	optional  bool // the pod starts without it
}

func (r reference) String() string { return r.kind + " " + r.namespace + "/" + r.name }

// maxReferenceRequests limits the requests of one check, so that a node with many pods
// does not load the API server.
const maxReferenceRequests = 30

// missingReferences returns the objects that pods in need of them refer to and that the
// cluster lacks. A node may read the Secrets and ConfigMaps of its own pods,
// one by one. Only their metadata is requested, so that no secret data is
// transferred. Known objects are not requested again.
func (n *Node) missingReferences(ctx context.Context, pods []*corev1.Pod) []reference {
	if n.knownReferences == nil {
		n.knownReferences = map[reference]bool{}
	}
	var absent []reference
	checked := map[reference]bool{}
	for _, pod := range pods {
		if !awaitsObjects(pod) {
			continue
		}
		for _, r := range references(pod) {
			key := reference{kind: r.kind, namespace: r.namespace, name: r.name}
			if n.knownReferences[key] || (!checked[key] && len(checked) == maxReferenceRequests) {
				continue
			}
			checked[key] = true
			switch err := n.getMetadata(ctx, key); {
			case err == nil:
				n.knownReferences[key] = true
			case apierrors.IsNotFound(err):
				absent = append(absent, r)
			} // other errors prove nothing: the API server may not have linked the pod to this node yet
		}
	}
	return absent
}

// getMetadata requests an object without its data.
func (n *Node) getMetadata(ctx context.Context, r reference) error {
	ctx, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	return n.metadataRequest(r).Do(ctx).Error()
}

func (n *Node) metadataRequest(r reference) *rest.Request {
	resource := "secrets"
	if r.kind == "ConfigMap" {
		resource = "configmaps"
	}
	return n.Conn.Client.RESTClient().Get().Namespace(r.namespace).Resource(resource).Name(r.name).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}

// awaitsObjects reports whether a missing object can be the reason why a pod is
// not up.
func awaitsObjects(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if _, isStatic := pod.Annotations[corev1.MirrorPodAnnotationKey]; isStatic {
		return false // it comes from a file and must not refer to objects
	}
	return pod.Status.Phase == corev1.PodPending ||
		slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return !c.Ready })
}

// references returns the objects that a pod refers to.
func references(pod *corev1.Pod) []reference {
	var all []reference
	add := func(kind, name string, optional *bool) {
		if name != "" {
			all = append(all, reference{
				kind:      kind,
				namespace: pod.Namespace,
				name:      name,
				optional:  optional != nil && *optional,
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
