// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// pageSize is the number of objects in one response.
const pageSize = 500

// WithoutEnrollment returns the names of the Nodes that have no NodeEnrollment, sorted.
func (c Client) WithoutEnrollment(ctx context.Context, enrolled []Row) ([]string, error) {
	names, err := c.names(ctx, nodes())
	if err != nil {
		return nil, err
	}
	hasEnrollment := map[string]bool{}
	for _, row := range enrolled {
		hasEnrollment[row.Name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return hasEnrollment[name] }), nil
}

// NodeNames returns the names of the nodes: of the NodeEnrollments if they can be listed, else of the Nodes.
func (c Client) NodeNames(ctx context.Context) ([]string, error) {
	names, err := c.names(ctx, nodeEnrollments())
	if err != nil {
		return c.names(ctx, nodes())
	}
	return names, nil
}

// NodePools returns the names of the NodePools in the NodeEnrollments, sorted.
func (c Client) NodePools(ctx context.Context) ([]string, error) {
	table, _, err := c.List(ctx, Selection{})
	pools := lists.Map(table.Rows, func(row Row) string { return row.Spec.NodePool })
	slices.Sort(pools)
	return slices.DeleteFunc(slices.Compact(pools), func(name string) bool { return name == "" }), err
}

// PendingNames returns the names of the nodes that have pending CSRs, and the names of these CSRs, sorted.
func (c Client) PendingNames(ctx context.Context) ([]string, error) {
	csrs, err := approver.PendingNames(ctx, c.Conn.Client)
	if err != nil {
		return nil, c.explain(ctx, err, "list", kind{resource: csrResource, path: []string{csrResource}})
	}
	return csrs, nil
}

// names returns the names of all objects of a kind, sorted.
func (c Client) names(ctx context.Context, k kind) ([]string, error) {
	options := metav1.ListOptions{Limit: pageSize}
	accept := "application/json;as=PartialObjectMetadataList;v=" + metav1.SchemeGroupVersion.Version + ";g=" +
		metav1.GroupName
	var names []string
	for {
		body, err := kube.Send(ctx, c.Conn.Client.RESTClient().Get().AbsPath(k.path...).SetHeader("Accept", accept).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}))
		if err != nil {
			return nil, c.explain(ctx, err, "list", k)
		}
		var page metav1.PartialObjectMetadataList
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("decoding the list of %s: %w", k.resource, err)
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			slices.Sort(names)
			return names, nil
		}
	}
}
