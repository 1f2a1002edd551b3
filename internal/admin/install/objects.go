// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// kubeconfigSecret returns the Secret with the controller's kubeconfig.
func (s Settings) kubeconfigSecret(kubeconfig []byte) *unstructured.Unstructured {
	secret := s.emptySecret()
	secret.SetLabels(map[string]string{
		"app.kubernetes.io/name": "hcp-node-admin", "app.kubernetes.io/component": "controller",
	})
	secret.SetAnnotations(map[string]string{hostedClusterAnnotation: s.HostedCluster.String()})
	secret.Object["data"] = map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString(kubeconfig)}
	return secret
}

// emptySecret returns the name of the Secret with the controller's kubeconfig.
func (s Settings) emptySecret() *unstructured.Unstructured {
	return newObject("v1", "Secret", s.managementNamespace(), controllerName)
}

// managementNamespace returns the namespace of the controller on the management cluster.
func (s Settings) managementNamespace() string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return v1alpha1.Namespace
}

// namespaceIn returns the namespace of the controller in a cluster.
func (s Settings) namespaceIn(in cluster.Place) string {
	if in == cluster.Hosted {
		return v1alpha1.Namespace
	}
	return s.managementNamespace()
}

func newObject(version, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
