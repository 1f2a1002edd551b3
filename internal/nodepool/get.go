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
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const api = "/apis/hypershift.openshift.io/v1beta1"

// The resources that are read, as in a Role.
const (
	nodePools      = "nodepools.hypershift.openshift.io"
	hostedClusters = "hostedclusters.hypershift.openshift.io"
)

// Get gathers the facts about a NodePool from the management cluster. It reads the NodePool, its HostedCluster, and two
// Secrets of the hosted control plane, each by name. It fails if the NodePool does not exist; Facts.Evaluate reports
// other missing objects.
func Get(ctx context.Context, conn *kube.Conn, namespace, name string) (*Facts, error) {
	f, err := GetObjects(ctx, conn, namespace, name)
	if err != nil {
		return nil, err
	}
	return f, f.GetSecrets(ctx, conn)
}

// GetObjects gathers the facts about a NodePool that are not secret, as Get does.
func GetObjects(ctx context.Context, conn *kube.Conn, namespace, name string) (*Facts, error) {
	f := &Facts{}
	err := conn.Client.GetJSON(ctx, &f.NodePool, api, "namespaces", namespace, "nodepools", name)
	if kube.IsMissingObject(err) {
		return nil, notFound(ctx, conn, namespace, name, nodePools)
	}
	if err != nil {
		return nil, explain(ctx, conn, err, nodePools, namespace)
	}
	cluster := &HostedCluster{}
	err = conn.Client.GetJSON(ctx, cluster, api, "namespaces", namespace, "hostedclusters", f.NodePool.Spec.ClusterName)
	switch {
	case err == nil:
		f.HostedCluster = cluster
	case !kube.IsMissingObject(err):
		return nil, explain(ctx, conn, err, hostedClusters, namespace)
	}
	return f, nil
}

// GetSecrets adds the user data and its token to the facts of GetObjects.
func (f *Facts) GetSecrets(ctx context.Context, conn *kube.Conn) error {
	secret, err := f.getSecret(ctx, conn, "user-data")
	if err != nil {
		return err
	}
	if secret != nil {
		f.UserData = secret.Data["value"]
	}
	f.Token, err = f.getSecret(ctx, conn, "token")
	return err
}

// getSecret returns a Secret of the NodePool's configuration, nil if it does not exist.
func (f *Facts) getSecret(ctx context.Context, conn *kube.Conn, prefix string) (*corev1.Secret, error) {
	name := f.secretName(prefix)
	if name == "" {
		return nil, nil //nolint:nilnil // HyperShift has not created it yet
	}
	secret, err := conn.Client.Secrets(f.controlPlaneNamespace()).Find(ctx, name)
	if err != nil {
		return nil, explain(ctx, conn, err, "secrets", f.controlPlaneNamespace())
	}
	return secret, nil
}

// List returns the NodePools of platform None of a HostedCluster, sorted by their names.
func List(ctx context.Context, conn *kube.Conn, cluster types.NamespacedName) ([]NodePool, error) {
	var list struct {
		Items []NodePool `json:"items"`
	}
	if err := conn.Client.GetJSON(ctx, &list, api, "namespaces", cluster.Namespace, "nodepools"); err != nil {
		return nil, explain(ctx, conn, err, nodePools, cluster.Namespace)
	}
	pools := slices.DeleteFunc(list.Items, func(pool NodePool) bool {
		return pool.Spec.ClusterName != cluster.Name || pool.Spec.Platform.Type != PlatformNone
	})
	slices.SortFunc(pools, func(a, b NodePool) int { return strings.Compare(a.Name, b.Name) })
	return pools, nil
}

// Names returns the names of the NodePools of a namespace, sorted.
func Names(ctx context.Context, conn *kube.Conn, namespace string) ([]string, error) {
	return listNames(ctx, conn, namespace, nodePools)
}

// listNames returns the names of the objects of a resource in a namespace, sorted.
func listNames(ctx context.Context, conn *kube.Conn, namespace, resource string) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	plural, _, _ := strings.Cut(resource, ".")
	if err := conn.Client.GetJSON(ctx, &list, api, "namespaces", namespace, plural); err != nil {
		return nil, explain(ctx, conn, err, resource, namespace)
	}
	names := make([]string, 0, len(list.Items))
	for _, object := range list.Items {
		names = append(names, object.Name)
	}
	slices.Sort(names)
	return names, nil
}

// notFound returns the error for an object that does not exist. It lists the others if the credential permits it.
func notFound(ctx context.Context, conn *kube.Conn, namespace, name, resource string) error {
	kind, remedy := "NodePool", report.Remedy("oc get nodepools -A # select the namespace with --namespace")
	if resource == hostedClusters {
		kind, remedy = "HostedCluster", "oc get hostedclusters -A # select the namespace with --namespace"
	}
	names, err := listNames(ctx, conn, namespace, resource)
	switch {
	case err != nil:
		return report.Fail(report.Usage, remedy, "%s %s does not exist in namespace %s", kind, name, namespace)
	case len(names) == 0:
		return report.Fail(report.Usage, remedy, "%s %s does not exist: namespace %s has no %ss", kind, name, namespace,
			kind)
	}
	return report.Fail(report.Usage, remedy, "%s %s does not exist in namespace %s, which has: %s", kind, name, namespace,
		strings.Join(names, ", "))
}

// explain returns the error of a request for a resource, with a remedy for its administrator.
func explain(ctx context.Context, conn *kube.Conn, err error, resource, namespace string) error {
	if apierrors.IsNotFound(err) {
		return report.Fail(report.Refused,
			"oc config get-contexts # select the management cluster with --context or --kubeconfig",
			"%s is not a management cluster: it does not serve %s; the kubeconfig may be that of the hosted cluster",
			conn.Server, resource)
	}
	return conn.RequestFailure(ctx, err, fmt.Sprintf("getting %s in namespace %s of %s", resource, namespace, conn.Server),
		kube.Remedies{
			Credential: "# log in to the management cluster again, for example with oc login",
			Permission: report.Remedyf("# an administrator of the management cluster grants the permission to USER:\n"+
				"oc -n %[1]s create role hcp-node-user-data --verb=get --resource=%[2]s\n"+
				"oc -n %[1]s create rolebinding hcp-node-user-data --role=hcp-node-user-data --user=USER",
				namespace, grant(resource)),
			Other: report.Remedy("oc get --raw /readyz # prints whether the API server is ready"),
		})
}

// grant returns the resources of a Role that permits a request. Both kinds are in the same namespace.
func grant(resource string) string {
	if resource == "secrets" {
		return resource
	}
	return nodePools + "," + hostedClusters
}
