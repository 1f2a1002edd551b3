// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Annotations returns the annotations of this host's Node.
func (n *Node) Annotations(ctx context.Context) (map[string]string, error) {
	node, err := n.Conn.Client.Nodes().Get(ctx, n.Name)
	if err != nil {
		return nil, fmt.Errorf("getting Node %s: %w", n.Name, err)
	}
	return node.Annotations, nil
}

// Annotate sets annotations of this host's Node.
func (n *Node) Annotate(ctx context.Context, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding patch: %w", err)
	}
	if _, err := n.Conn.Client.Nodes().Patch(ctx, n.Name, types.MergePatchType, patch); err != nil {
		return fmt.Errorf("annotating Node %s: %w", n.Name, err)
	}
	return nil
}
