// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Client reads and deletes what belongs to the nodes of a hosted cluster.
type Client struct{ *cluster.Cluster }

// The kinds of objects that belong to a node.
func enrollmentKind() schema.GroupVersionKind {
	return v1alpha1.GroupVersion.WithKind("NodeEnrollment")
}

func nodeKind() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Node") }

// withUID returns the precondition that an object is still the one that was read.
func withUID(uid types.UID) client.Preconditions { return client.Preconditions{UID: &uid} }

// pageSize is the number of objects in one response.
const pageSize = 500

// names returns the names of all objects of a kind, sorted.
func (c Client) names(ctx context.Context, kind schema.GroupVersionKind) ([]string, error) {
	page := &metav1.PartialObjectMetadataList{}
	var names []string
	for {
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, page, client.Limit(pageSize), client.Continue(page.Continue)); err != nil {
			return nil, err
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if page.Continue == "" {
			slices.Sort(names)
			return names, nil
		}
	}
}
