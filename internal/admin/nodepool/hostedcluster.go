// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// kubeconfigKey is the key of the administrator's kubeconfig in its Secret.
const kubeconfigKey = "kubeconfig"

// ErrNotFound is in the chain of the error for a HostedCluster that does not exist.
var ErrNotFound = errors.New("not found")

// GetHostedCluster returns a HostedCluster of a management cluster.
func GetHostedCluster(ctx context.Context, management client.Reader, namespace, name string) (*HostedCluster, error) {
	cluster := &HostedCluster{}
	err := get(ctx, management, hostedCluster, namespace, name, cluster)
	if apierrors.IsNotFound(err) {
		err = notFoundError{notFound(ctx, management, hostedCluster, namespace, name)}
	}
	return cluster, err
}

// FindHostedCluster returns a HostedCluster of a management cluster, without a name the only one of the namespace.
func FindHostedCluster(ctx context.Context, management client.Reader, namespace, name string) (*HostedCluster, error) {
	if name == "" {
		names, err := HostedClusters(ctx, management, namespace)
		switch {
		case err != nil:
			return nil, err
		case len(names) == 0:
			return nil, report.Fail(report.Usage, "oc get hostedclusters -A # select the namespace with --namespace",
				"namespace %s has no HostedCluster", namespace)
		case len(names) > 1:
			return nil, report.UsageError("namespace %s has several HostedClusters; select one with "+
				"--hosted-cluster: %s", namespace, strings.Join(names, ", "))
		}
		name = names[0]
	}
	return GetHostedCluster(ctx, management, namespace, name)
}

// notFoundError is an error for an object that does not exist.
type notFoundError struct{ error }

// Is reports whether target is ErrNotFound.
func (notFoundError) Is(target error) bool { return target == ErrNotFound }

// Unwrap returns the error with its exit code and remedy.
func (e notFoundError) Unwrap() error { return e.error }

// HostedClusters returns the names of the HostedClusters of a namespace.
func HostedClusters(ctx context.Context, management client.Reader, namespace string) ([]string, error) {
	return listNames(ctx, management, hostedCluster, namespace)
}

// CheckPlatform returns an error for a HostedCluster in which no host can ever be a node of platform None, because
// HyperShift itself creates the nodes on its platform.
func (h *HostedCluster) CheckPlatform() error {
	platform := h.Spec.Platform.Type
	if !slices.Contains([]string{"AWS", "Azure", "GCP", "KubeVirt", "OpenStack", "PowerVS"}, platform) {
		return nil
	}
	return report.Fail(report.Refused, report.Remedyf("oc -n %s get hostedclusters "+
		"-o custom-columns=NAME:.metadata.name,PLATFORM:.spec.platform.type", h.Namespace),
		"HostedCluster %s/%s: the platform is %s: HyperShift itself creates the nodes. Only hosts of platform None join "+
			"with join tokens", h.Namespace, h.Name, platform)
}

// GetKubeconfig returns the administrator's kubeconfig of the hosted cluster, which is a secret. It is in the Secret
// that HyperShift names in the status of the HostedCluster.
func (h *HostedCluster) GetKubeconfig(ctx context.Context, management client.Reader) ([]byte, error) {
	remedy := report.Remedyf("oc -n %s get hostedcluster %s -o jsonpath='{.status.kubeconfig.name}' # or use "+
		"another kubeconfig of the hosted cluster", h.Namespace, h.Name)
	if h.Status.Kubeconfig == nil || h.Status.Kubeconfig.Name == "" {
		return nil, report.Fail(report.Refused, remedy, "HyperShift has not published the kubeconfig of HostedCluster %s yet",
			h.Name)
	}
	name := h.Status.Kubeconfig.Name
	secret := &corev1.Secret{}
	err := management.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if len(secret.Data[kubeconfigKey]) == 0 {
		return nil, report.Fail(report.Refused, remedy, "Secret %s in namespace %s does not exist or has no key %s", name,
			h.Namespace, kubeconfigKey)
	}
	return secret.Data[kubeconfigKey], nil
}
