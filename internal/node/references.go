// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
)

// maxReferenceRequests limits the requests of one check, so that a node with many pods
// does not load the API server.
const maxReferenceRequests = 30

// referenceChecker finds objects that do not exist.
type referenceChecker struct {
	client *kube.Client
	known  map[pods.Reference]bool // objects known to exist, which are not requested again
}

// missing returns the objects that pods in need of them refer to and that the
// cluster lacks. A node may read the Secrets and ConfigMaps of its own pods,
// one by one. Only their metadata is requested, so that no secret data is
// transferred. Known objects are not requested again.
func (c *referenceChecker) missing(ctx context.Context, all []*corev1.Pod) []pods.Reference {
	if c.known == nil {
		c.known = map[pods.Reference]bool{}
	}
	var absent []pods.Reference
	checked := map[pods.Reference]bool{}
	for _, pod := range all {
		if !pods.AwaitsObjects(pod) {
			continue
		}
		for _, r := range pods.References(pod) {
			key := pods.Reference{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
			if c.known[key] || (!checked[key] && len(checked) == maxReferenceRequests) {
				continue
			}
			checked[key] = true
			switch err := c.get(ctx, key); {
			case err == nil:
				c.known[key] = true
			case apierrors.IsNotFound(err):
				absent = append(absent, r)
			} // other errors prove nothing: the API server may not have linked the pod to this node yet
		}
	}
	return absent
}

// get returns an error unless the object exists and may be read.
func (c *referenceChecker) get(ctx context.Context, r pods.Reference) error {
	ctx, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	return c.metadataRequest(r).Do(ctx).Error()
}

// metadataRequest returns the request for an object without its data.
func (c *referenceChecker) metadataRequest(r pods.Reference) *rest.Request {
	resource := "secrets"
	if r.Kind == "ConfigMap" {
		resource = "configmaps"
	}
	return c.client.RESTClient().Get().Namespace(r.Namespace).Resource(resource).Name(r.Name).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}
