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

// CADifference is the difference between the CAs that a cluster publishes and those in the node's kubeconfig.
type CADifference struct {
	IsKnown  bool                // false: the cluster does not offer its CAs to the node
	Missing  []*x509.Certificate // CAs of the cluster that the kubeconfig does not contain
	Obsolete []*x509.Certificate // CAs in the kubeconfig that the cluster does not publish
	// Version identifies the state of the ConfigMaps that contain the certificates. A change of one of
	// them changes it, even if the change was reverted.
	Version string
}

// CompareCAs compares the CAs that the cluster publishes with those in the node's kubeconfig, which differ for
// example during a CA rotation. No other source informs a node: it works until the API server uses a certificate of a
// new CA. The result is empty if there is no difference, if no pod of Kubernetes or OpenShift mounts the bundle, and
// while the bundles of several namespaces differ. It fails for a bundle without a certificate.
func (n *Node) CompareCAs(ctx context.Context, cluster kube.Cluster) (CADifference, error) {
	pods, err := n.podsAtVersion(ctx, "0")
	if err != nil {
		return CADifference{}, err
	}
	var difference CADifference
	var first *corev1.ConfigMap
	for _, namespace := range bundleNamespaces(pods) {
		bundle, err := n.rootCAs(ctx, namespace)
		if err != nil {
			return CADifference{}, err
		}
		if bundle == nil {
			continue
		}
		if first == nil {
			first = bundle
			difference, err = compareCertificates(cluster.CA, []byte(bundle.Data["ca.crt"]))
			if err != nil || len(difference.Missing)+len(difference.Obsolete) == 0 {
				return difference, err
			}
		}
		if bundle.Data["ca.crt"] != first.Data["ca.crt"] {
			return CADifference{}, nil
		}
		difference.Version += fmt.Sprintf("%s/%s/%s\n", namespace, bundle.UID, bundle.ResourceVersion)
	}
	return difference, nil
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

// compareCertificates returns the difference between two PEM bundles.
func compareCertificates(known, bundle []byte) (CADifference, error) {
	knownCerts, err := kube.ParsePEMCertificates(known)
	if err != nil {
		return CADifference{}, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	bundleCerts, err := kube.ParsePEMCertificates(bundle)
	if err != nil {
		return CADifference{}, fmt.Errorf("reading the cluster's CAs: %w", err)
	}
	return CADifference{
		IsKnown: true,
		Missing: missingCAs(knownCerts, bundleCerts), Obsolete: missingCAs(bundleCerts, knownCerts),
	}, nil
}

// missingCAs returns the certificates that known does not contain. A certificate that was reissued for the same subject
// and key counts as the same CA.
func missingCAs(known, certificates []*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(certificates), func(certificate *x509.Certificate) bool {
		return slices.ContainsFunc(known, func(other *x509.Certificate) bool {
			return other.Subject.String() == certificate.Subject.String() &&
				slices.Equal(other.RawSubjectPublicKeyInfo, certificate.RawSubjectPublicKeyInfo)
		})
	})
}
