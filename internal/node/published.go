// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Objects of a hosted cluster whose contents are in the payloads of its nodes. HyperShift updates them when only the
// content of a Secret or ConfigMap of the HostedCluster changes, without a new configuration of the NodePools. A node
// may get them with deploy/hosted-renewals.
const (
	configNamespace  = "openshift-config"
	pullSecretName   = "pull-secret"
	trustBundleName  = "user-ca-bundle"
	PullSecretObject = "Secret " + configNamespace + "/" + pullSecretName

	trustBundleObject = "ConfigMap " + configNamespace + "/" + trustBundleName
)

// syncerLabel is true on nodes whose pull secret HyperShift's DaemonSet global-pull-secret-syncer writes.
const syncerLabel = "hypershift.openshift.io/nodepool-globalps-enabled"

// Published is the content of an object that a cluster publishes for its nodes.
type Published struct {
	Content []byte
	Version string // of the object, which any change of it changes; "" if the cluster does not offer it to nodes
}

// PublishedPullSecret returns the pull secret of the cluster.
func (n *Node) PublishedPullSecret(ctx context.Context) (Published, error) {
	secret, err := n.Conn.Client.Secrets(configNamespace).Get(ctx, pullSecretName)
	return n.published(ctx, secret, secret.Data[corev1.DockerConfigJsonKey], PullSecretObject, err)
}

// PublishedTrustBundle returns the additional CAs of the cluster, in PEM.
func (n *Node) PublishedTrustBundle(ctx context.Context) (Published, error) {
	bundle, err := n.Conn.Client.ConfigMaps(configNamespace).Get(ctx, trustBundleName)
	return n.published(ctx, bundle, []byte(bundle.Data["ca-bundle.crt"]), trustBundleObject, err)
}

// APIServers are the URLs of the API server that a cluster publishes.
type APIServers struct {
	Internal string // of nodes
	External string
	Version  string // of the object; "" if the cluster does not offer it to nodes
}

// infrastructurePath is the path of the object that names the API server. HyperShift writes the URLs to it that it
// writes to the kubeconfigs of nodes and administrators (support/globalconfig/infrastructure.go).
const infrastructurePath = "/apis/config.openshift.io/v1/infrastructures/cluster"

// PublishedAPIServers returns the URLs of the API server.
func (n *Node) PublishedAPIServers(ctx context.Context) (APIServers, error) {
	var object struct {
		metav1.ObjectMeta `json:"metadata"`

		Status struct {
			APIServerURL         string `json:"apiServerURL"`
			APIServerInternalURL string `json:"apiServerInternalURL"`
		} `json:"status"`
	}
	err := n.Conn.Client.GetJSON(ctx, &object, infrastructurePath)
	published, err := n.published(ctx, &object, nil, "Infrastructure cluster", err)
	return APIServers{
		Internal: object.Status.APIServerInternalURL, External: object.Status.APIServerURL, Version: published.Version,
	}, err
}

// published returns the content of an object, or why the node cannot get it.
func (n *Node) published(
	ctx context.Context, object metav1.Object, content []byte, name string, err error,
) (Published, error) {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return Published{}, nil
	}
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return Published{}, report.Fail(report.Failed, problem.Remedy, "reading %s of the cluster: %s", name, problem.Message)
	}
	return Published{Content: content, Version: fmt.Sprintf("%s/%s", object.GetUID(), object.GetResourceVersion())}, nil
}

// HasPullSecretSyncer reports whether a DaemonSet of HyperShift writes the pull secret of this node.
func (n *Node) HasPullSecretSyncer(ctx context.Context) (bool, error) {
	node, err := n.get(ctx)
	if err != nil {
		return false, fmt.Errorf("getting Node %s: %w", n.Name, err)
	}
	return node != nil && node.Labels[syncerLabel] == "true", nil
}
