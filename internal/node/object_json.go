package node

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// JSON returns the Node in JSON, without managedFields.
func (n *Node) JSON(ctx context.Context) ([]byte, error) {
	node, err := n.Conn.Client.Nodes().Get(ctx, n.Name)
	if err != nil {
		return nil, kube.Explain(err, n.Conn.Server).Failure("asking the cluster about Node "+n.Name, err)
	}
	node.ManagedFields = nil
	return kube.EncodeJSON(node)
}
