// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Right is a right on a cluster.
type Right struct {
	Verb      string
	Resource  schema.GroupResource
	Namespace string // "" for the whole cluster
}

// String returns the right in words, such as "create pods in namespace default".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource.String()
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// CheckRights returns an error that names those of the rights that the credential does not have. It changes nothing.
func (c *Cluster) CheckRights(ctx context.Context, rights []Right) error {
	var missing []string
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: right.Verb, Group: right.Resource.Group, Resource: right.Resource.Resource, Namespace: right.Namespace,
			},
		}}
		if err := c.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			missing = append(missing, right.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return report.Fail(report.CredentialRefused, c.administratorRemedy(), "no permission on the %s cluster %s: %s",
		c.Place, c.Server, strings.Join(missing, ", "))
}

// User returns the name of the user of the credential.
func (c *Cluster) User(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := c.Create(ctx, review)
	return review.Status.UserInfo.Username, err
}

// ServesResource reports whether the cluster serves a resource.
func (c *Cluster) ServesResource(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	content, err := kube.Send(ctx, c.REST.Get().AbsPath("/apis", resource.Group, resource.Version))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	var list metav1.APIResourceList
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	isServed := slices.ContainsFunc(list.APIResources, func(one metav1.APIResource) bool {
		return one.Name == resource.Resource
	})
	return isServed, c.Explain(ctx, err, Request{Verb: "get", Kind: "API group", Name: resource.Group})
}
