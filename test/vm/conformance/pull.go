// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Pull runs a container of each image on each node, and waits until all of them run. The tests wait at most five
// minutes for a pod, which must not depend on how long an emulated machine takes to pull the images.
func (s *Suite) Pull(ctx context.Context, client kubernetes.Interface) error {
	labels := map[string]string{"app": "images"}
	grace := int64(0)
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "images"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &grace},
			},
		},
	}
	spec := &set.Spec.Template.Spec
	for _, name := range slices.Sorted(maps.Keys(images)) {
		container := corev1.Container{Name: name, Image: s.pullSpecs[name], Command: images[name].ends}
		if name == "pause" {
			spec.Containers = append(spec.Containers, container)
		} else {
			// One after another: images that are pulled at the same time do not share their layers.
			spec.InitContainers = append(spec.InitContainers, container)
		}
	}
	sets := client.AppsV1().DaemonSets("default")
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating pods with the images: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second, waittest.Timeout, true, func(ctx context.Context) (bool, error) {
		found, err := sets.Get(ctx, set.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		desired := found.Status.DesiredNumberScheduled
		return desired > 0 && found.Status.NumberReady == desired, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for pods with the images: %w", err)
	}
	if err := sets.Delete(ctx, set.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the pods with the images: %w", err)
	}
	return nil
}
