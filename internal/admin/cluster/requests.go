// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// do sends a request within the timeout of a request, and explains its error.
func (c *Cluster) do(ctx context.Context, r Request, send func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, kube.RequestTimeout)
	defer cancel()
	return c.Explain(ctx, send(limited), r)
}

// requestFor returns the description of a request for an object, which has a name, or for a list.
func (c *Cluster) requestFor(verb string, object runtime.Object, namespace, name string) Request {
	kind, err := c.client.GroupVersionKindFor(object)
	if err != nil {
		return Request{Verb: verb, Kind: "objects"} // the request fails, too
	}
	return Request{
		Verb: verb, Group: kind.Group, Kind: strings.TrimSuffix(kind.Kind, "List"), Namespace: namespace, Name: name,
	}
}

func (c *Cluster) requestForObject(verb string, object client.Object) Request {
	return c.requestFor(verb, object, object.GetNamespace(), object.GetName())
}

// Get reads an object.
func (c *Cluster) Get(
	ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption,
) error {
	return c.do(ctx, c.requestFor("get", object, key.Namespace, key.Name), func(ctx context.Context) error {
		return c.client.Get(ctx, key, object, options...)
	})
}

// List reads objects.
func (c *Cluster) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	applied := client.ListOptions{}
	r := c.requestFor("list", list, applied.ApplyOptions(options).Namespace, "")
	return c.do(ctx, r, func(ctx context.Context) error { return c.client.List(ctx, list, options...) })
}

// Create creates an object, which it sets to that of the API server.
func (c *Cluster) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return c.do(ctx, c.requestForObject("create", object), func(ctx context.Context) error {
		return c.client.Create(ctx, object, options...)
	})
}

// Update replaces an object, which it sets to that of the API server.
func (c *Cluster) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return c.do(ctx, c.requestForObject("update", object), func(ctx context.Context) error {
		return c.client.Update(ctx, object, options...)
	})
}

// Delete deletes an object.
func (c *Cluster) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.do(ctx, c.requestForObject("delete", object), func(ctx context.Context) error {
		return c.client.Delete(ctx, object, options...)
	})
}

// Apply applies an object by server-side apply, and sets it to that of the API server.
func (c *Cluster) Apply(
	ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption,
) error {
	return c.do(ctx, c.requestForObject("apply", object), func(ctx context.Context) error {
		return c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
	})
}

// CreateSub creates a subresource of an object.
func (c *Cluster) CreateSub(ctx context.Context, name string, object, created client.Object) error {
	r := c.requestForObject("create", object)
	r.Subresource = name
	return c.do(ctx, r, func(ctx context.Context) error {
		return c.client.SubResource(name).Create(ctx, object, created)
	})
}

// UpdateSub replaces a subresource of an object, which it sets to that of the API server.
func (c *Cluster) UpdateSub(ctx context.Context, name string, object client.Object) error {
	r := c.requestForObject("update", object)
	r.Subresource = name
	return c.do(ctx, r, func(ctx context.Context) error { return c.client.SubResource(name).Update(ctx, object) })
}
