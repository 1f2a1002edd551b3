// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Annotations returns the annotations of this host's Node, and the version of the Node.
func (n *Node) Annotations(ctx context.Context) (annotations map[string]string, version string, err error) {
	node, err := n.Conn.Client.Nodes().Get(ctx, n.Name)
	if err != nil {
		return nil, "", fmt.Errorf("getting Node %s: %w", n.Name, err)
	}
	return node.Annotations, node.ResourceVersion, nil
}

// Annotate sets annotations of this host's Node.
func (n *Node) Annotate(ctx context.Context, annotations map[string]string) error {
	return n.AnnotateVersion(ctx, "", annotations)
}

// AnnotateVersion sets annotations of this host's Node if the Node has a version. Otherwise the error is a conflict.
func (n *Node) AnnotateVersion(ctx context.Context, version string, annotations map[string]string) error {
	metadata := map[string]any{"annotations": annotations}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding patch: %w", err)
	}
	if _, err := n.Conn.Client.Nodes().Patch(ctx, n.Name, types.MergePatchType, patch); err != nil {
		return fmt.Errorf("annotating Node %s: %w", n.Name, err)
	}
	return nil
}
