// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ConfigMap in which the API server publishes the CAs of its client certificates (ClusterAuthenticationTrust in
// k8s.io/kubernetes/pkg/controlplane). They include the signer of kubelets' client certificates.
const (
	ClientCANamespace = metav1.NamespaceSystem
	ClientCAConfigMap = "extension-apiserver-authentication"
)

// ParseClientCAs returns the CAs in the ConfigMap of the API server.
func ParseClientCAs(object *corev1.ConfigMap) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(object.Data["client-ca-file"])) {
		return nil, fmt.Errorf("ConfigMap %s/%s contains no client CA", object.Namespace, object.Name)
	}
	return pool, nil
}
