// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// manifestsDir is kubelet's directory of static pods.
const manifestsDir = "/etc/kubernetes/manifests"

// StaticPodImages returns the images of the static pods among changes, without duplicates.
func StaticPodImages(changes []ledger.Change) ([]string, error) {
	var images []string
	for _, change := range changes {
		if change.Kind != ledger.File || !change.Desired.Present || !hostfs.IsWithin(change.Target, manifestsDir) {
			continue
		}
		var pod corev1.Pod
		if err := yaml.Unmarshal(change.Desired.Content, &pod); err != nil {
			return nil, fmt.Errorf("reading the static pod in %s: %w", change.Target, err)
		}
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if container.Image != "" && !slices.Contains(images, container.Image) {
				images = append(images, container.Image)
			}
		}
	}
	return images, nil
}
