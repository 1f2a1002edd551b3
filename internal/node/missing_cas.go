// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rootCAConfigMap is the ConfigMap in every namespace that contains the certificate
// authorities (CAs) of the API server (RootCAConfigMapPublisher in
// k8s.io/kubernetes). A node may read it in the namespaces of its own pods that
// mount it. Users can change it in their own namespaces.
const rootCAConfigMap = "kube-root-ca.crt"

// MissingCAs returns the CAs of the cluster that the node's kubeconfig does
// not contain, for example during a CA rotation. No other source informs a
// node: it works until the API server uses a certificate of a new CA. The list
// is empty if no pod of Kubernetes or OpenShift mounts the bundle.
func (n *Node) MissingCAs(ctx context.Context, cluster kube.Cluster) ([]*x509.Certificate, error) {
	pods, err := n.pods(ctx)
	if err != nil {
		return nil, err
	}
	namespace, found := findMountingNamespace(pods, rootCAConfigMap)
	if !found {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	bundle, err := n.Conn.Client.ConfigMaps(namespace).Get(ctx, rootCAConfigMap)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil // the pod was deleted in the meantime
	}
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return nil, report.Fail(report.Failed, problem.Remedy,
			"reading the cluster's CAs (ConfigMap %s/%s): %s", namespace, rootCAConfigMap, problem.Message)
	}
	return missingCertificates(cluster.CA, []byte(bundle.Data["ca.crt"]))
}

// findMountingNamespace returns the namespace of a pod with a projected volume of the
// ConfigMap name. Only an administrator can change ConfigMaps in such a namespace.
func findMountingNamespace(pods []*corev1.Pod, name string) (string, bool) {
	for _, pod := range pods {
		if !isClusterNamespace(pod.Namespace) {
			continue
		}
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected == nil {
				continue
			}
			for _, source := range volume.Projected.Sources {
				if source.ConfigMap != nil && source.ConfigMap.Name == name {
					return pod.Namespace, true
				}
			}
		}
	}
	return "", false
}

// missingCertificates returns the certificates in bundle that known does not contain. A
// certificate that was reissued for the same subject and key counts as the same CA.
func missingCertificates(known, bundle []byte) ([]*x509.Certificate, error) {
	knownCerts, err := kube.ParsePEMCertificates(known)
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	bundleCerts, err := kube.ParsePEMCertificates(bundle)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's CAs: %w", err)
	}
	var unknown []*x509.Certificate
	for _, certificate := range bundleCerts {
		same := func(other *x509.Certificate) bool {
			return other.Subject.String() == certificate.Subject.String() &&
				slices.Equal(other.RawSubjectPublicKeyInfo, certificate.RawSubjectPublicKeyInfo)
		}
		if !slices.ContainsFunc(knownCerts, same) {
			unknown = append(unknown, certificate)
		}
	}
	return unknown, nil
}
