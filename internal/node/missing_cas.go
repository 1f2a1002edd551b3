// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rootCAConfigMap is the ConfigMap in every namespace that contains the certificate
// authorities (CAs) of the API server (RootCAConfigMapPublisher in
// k8s.io/kubernetes). A node may read it in the namespaces of its own pods that
// mount it. Users can change it in their own namespaces, and service accounts of
// operators in those of OpenShift. The publisher reverts such a change within milliseconds.
const rootCAConfigMap = "kube-root-ca.crt"

// MissingCAs are the CAs of the cluster that the node's kubeconfig does not contain.
type MissingCAs struct {
	Certificates []*x509.Certificate
	// Version identifies the state of the ConfigMaps that contain the certificates. A change of one of
	// them changes it, even if the change was reverted.
	Version string
}

// MissingCAs returns the CAs of the cluster that the node's kubeconfig does
// not contain, for example during a CA rotation. No other source informs a
// node: it works until the API server uses a certificate of a new CA. The list
// is empty if no pod of Kubernetes or OpenShift mounts the bundle, and while the bundles of
// several namespaces differ.
func (n *Node) MissingCAs(ctx context.Context, cluster kube.Cluster) (MissingCAs, error) {
	pods, err := n.podsAtVersion(ctx, "0")
	if err != nil {
		return MissingCAs{}, err
	}
	var missing MissingCAs
	var first *corev1.ConfigMap
	for _, namespace := range bundleNamespaces(pods) {
		bundle, err := n.rootCAs(ctx, namespace)
		if err != nil {
			return MissingCAs{}, err
		}
		if bundle == nil {
			continue
		}
		if first == nil {
			first = bundle
			missing.Certificates, err = missingCertificates(cluster.CA, []byte(bundle.Data["ca.crt"]))
			if err != nil || len(missing.Certificates) == 0 {
				return MissingCAs{}, err
			}
		}
		if bundle.Data["ca.crt"] != first.Data["ca.crt"] {
			return MissingCAs{}, nil
		}
		missing.Version += fmt.Sprintf("%s/%s/%s\n", namespace, bundle.UID, bundle.ResourceVersion)
	}
	return missing, nil
}

// rootCAs returns the ConfigMap of the CAs in a namespace, or nil if the pod that mounts it was deleted in
// the meantime.
func (n *Node) rootCAs(ctx context.Context, namespace string) (*corev1.ConfigMap, error) {
	bundle, err := n.Conn.Client.ConfigMaps(namespace).Get(ctx, rootCAConfigMap)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // no ConfigMap is no error
	}
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return nil, report.Fail(report.Failed, problem.Remedy,
			"reading the cluster's CAs (ConfigMap %s/%s): %s", namespace, rootCAConfigMap, problem.Message)
	}
	return bundle, nil
}

// bundleNamespaces returns the namespaces whose CAs must agree: kube-system alone if a pod there mounts
// them, because only components of the control plane can change ConfigMaps in it, otherwise all
// namespaces of OpenShift with such a pod. Namespaces of users are never among them.
func bundleNamespaces(all []*corev1.Pod) []string {
	var namespaces []string
	for _, pod := range all {
		if isClusterNamespace(pod.Namespace) && mountsRootCAs(pod) {
			namespaces = append(namespaces, pod.Namespace)
		}
	}
	if slices.Contains(namespaces, metav1.NamespaceSystem) {
		return []string{metav1.NamespaceSystem}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// mountsRootCAs reports whether a pod has a projected volume of the CAs of the API server.
func mountsRootCAs(pod *corev1.Pod) bool {
	isRootCAs := func(source corev1.VolumeProjection) bool {
		return source.ConfigMap != nil && source.ConfigMap.Name == rootCAConfigMap
	}
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, isRootCAs)
	})
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
