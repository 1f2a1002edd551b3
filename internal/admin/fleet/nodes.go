// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/approve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// withoutEnrollment returns the names of the Nodes that have no NodeEnrollment, sorted.
func (c Client) withoutEnrollment(ctx context.Context, enrolled []*v1alpha1.NodeEnrollment) ([]string, error) {
	names, err := c.names(ctx, nodeKind())
	if err != nil {
		return nil, err
	}
	hasEnrollment := map[string]bool{}
	for _, object := range enrolled {
		hasEnrollment[object.Name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return hasEnrollment[name] }), nil
}

// NodeNames returns the names of the nodes: of the NodeEnrollments if they can be listed, else of the Nodes.
func (c Client) NodeNames(ctx context.Context) ([]string, error) {
	names, err := c.names(ctx, enrollmentKind())
	if err != nil {
		return c.names(ctx, nodeKind())
	}
	return names, nil
}

// LostNames returns the names of the nodes that were removed as lost, sorted.
func (c Client) LostNames(ctx context.Context) ([]string, error) {
	lost, err := lostnodes.Read(ctx, c)
	return slices.Sorted(maps.Keys(lost)), err
}

// NodePools returns the names of the NodePools in the NodeEnrollments, sorted.
func (c Client) NodePools(ctx context.Context) ([]string, error) {
	var all v1alpha1.NodeEnrollmentList
	err := c.List(ctx, &all)
	pools := lists.Map(all.Items, func(object v1alpha1.NodeEnrollment) string { return object.Spec.NodePool })
	slices.Sort(pools)
	return slices.DeleteFunc(slices.Compact(pools), func(name string) bool { return name == "" }), err
}

// PendingNames returns the names of the nodes that have pending CSRs, and the names of these CSRs, sorted.
func (c Client) PendingNames(ctx context.Context) ([]string, error) {
	return approve.PendingNames(ctx, c)
}
