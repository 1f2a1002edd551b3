// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The kinds that are read.
const (
	nodePool      = "NodePool"
	hostedCluster = "HostedCluster"
)

func kindOf(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "hypershift.openshift.io", Version: "v1beta1", Kind: name}
}

// get decodes an object of HyperShift into a value. The error is a NotFound error if the object does not exist.
func get(ctx context.Context, management client.Reader, kind, namespace, name string, into any) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kindOf(kind))
	if err := management.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return err
	}
	return decode(object, into)
}

func decode(object *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("decoding %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// GetObjects gathers the facts about a NodePool from the management cluster that are not secret: the NodePool and its
// HostedCluster, each by name. It fails if the NodePool does not exist, or is not that of ofCluster, unless that is "";
// Facts.Evaluate reports other missing objects.
func GetObjects(ctx context.Context, management client.Reader, namespace, ofCluster, name string) (*Facts, error) {
	f := &Facts{}
	err := get(ctx, management, nodePool, namespace, name, &f.NodePool)
	if apierrors.IsNotFound(err) {
		return nil, notFound(ctx, management, nodePool, namespace, name)
	}
	if err != nil {
		return nil, err
	}
	if owner := f.NodePool.Spec.ClusterName; ofCluster != "" && owner != ofCluster {
		return nil, report.UsageError("NodePool %s/%s is that of HostedCluster %s, not of %s", namespace, name,
			owner, ofCluster)
	}
	cluster := &HostedCluster{}
	err = get(ctx, management, hostedCluster, namespace, f.NodePool.Spec.ClusterName, cluster)
	if err == nil {
		f.HostedCluster = cluster
	}
	return f, client.IgnoreNotFound(err)
}

// GetSecrets adds the user data and its token, from two Secrets of the hosted control plane.
func (f *Facts) GetSecrets(ctx context.Context, management client.Reader) error {
	secret, err := f.getSecret(ctx, management, "user-data")
	if err != nil {
		return err
	}
	if secret != nil {
		f.UserData = secret.Data["value"]
	}
	f.Token, err = f.getSecret(ctx, management, "token")
	return err
}

// getSecret returns a Secret of the NodePool's configuration, nil if it does not exist.
func (f *Facts) getSecret(ctx context.Context, management client.Reader, prefix string) (*corev1.Secret, error) {
	name := f.secretName(prefix)
	if name == "" {
		return nil, nil //nolint:nilnil // HyperShift has not created it yet
	}
	secret := &corev1.Secret{}
	err := management.Get(ctx, client.ObjectKey{Namespace: f.controlPlaneNamespace(), Name: name}, secret)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return secret, nil
}

// List returns the NodePools of platform None of a HostedCluster, sorted by their names.
func List(ctx context.Context, management client.Reader, cluster types.NamespacedName) ([]NodePool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf(nodePool + "List"))
	if err := management.List(ctx, list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, err
	}
	var pools []NodePool
	for i := range list.Items {
		var pool NodePool
		if err := decode(&list.Items[i], &pool); err != nil {
			return nil, err
		}
		if pool.Spec.ClusterName == cluster.Name && pool.Spec.Platform.Type == PlatformNone {
			pools = append(pools, pool)
		}
	}
	slices.SortFunc(pools, func(a, b NodePool) int { return strings.Compare(a.Name, b.Name) })
	return pools, nil
}

// Names returns the names of the NodePools of a namespace, sorted.
func Names(ctx context.Context, management client.Reader, namespace string) ([]string, error) {
	return listNames(ctx, management, nodePool, namespace)
}

// listNames returns the names of the objects of a kind in a namespace, sorted.
func listNames(ctx context.Context, management client.Reader, kind, namespace string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kindOf(kind + "List"))
	if err := management.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

// notFound returns the error for an object that does not exist. It lists the others if the credential permits it.
func notFound(ctx context.Context, management client.Reader, kind, namespace, name string) error {
	remedy := report.Remedyf("oc get %ss -A # select the namespace with --namespace", strings.ToLower(kind))
	names, err := listNames(ctx, management, kind, namespace)
	switch {
	case err != nil:
		return report.Fail(report.Usage, remedy, "%s %s does not exist in namespace %s", kind, name, namespace)
	case len(names) == 0:
		return report.Fail(report.Usage, remedy, "%s %s does not exist: namespace %s has no %ss", kind, name, namespace,
			kind)
	}
	meant := config.Suggestion(name, names)
	if meant != "" {
		remedy = ""
	}
	return report.Fail(report.Usage, remedy, "%s %s does not exist in namespace %s, which has: %s%s", kind, name,
		namespace, strings.Join(names, ", "), meant)
}
