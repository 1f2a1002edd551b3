// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// AwaitsImage reports whether kubelet cannot pull an image of a pod.
func AwaitsImage(pod *corev1.Pod) bool {
	reasons := []string{"ErrImagePull", "ImagePullBackOff"}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool {
			return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
		})
}

// MissingCredentials returns a finding for each registry that rejects images of pods, and for which the
// node's pull secret contains no credential. Such a registry may have been added to the pull secret of the
// cluster since the join, which a node cannot read. The findings are notes, because the pod may also need a
// pull secret of its own.
func MissingCredentials(all []*corev1.Pod, e Evidence) []report.Finding {
	names := map[string][]string{}
	for _, problem := range Problems(all, e) {
		if registry := problem.uncredentialed; registry != "" {
			names[registry] = append(names[registry], problem.Name())
		}
	}
	var findings []report.Finding
	for _, registry := range slices.Sorted(maps.Keys(names)) {
		findings = append(findings, report.Finding{
			Severity: report.SeverityNote,
			Reason:   report.RegistryCredentialMissing,
			Subject:  "registry " + registry,
			Message: fmt.Sprintf("registry %s requires a credential, and this node's pull secret (%s) has none for it; "+
				"pods that cannot pull from it: %s", registry, PullSecretPath, report.AbbreviateList(names[registry])),
			Remedy: "hcp-node-agent upgrade --user-data USER_DATA # with current user data, if " + clusterRegistryAuth +
				" contains the registry; otherwise add it there, or to a pull secret of the pods",
		})
	}
	return findings
}
