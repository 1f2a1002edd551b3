// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ledgerPieces returns the recorded changes of the host with their times, without
// contents.
func (d *diagnostics) ledgerPieces() []bundle.File {
	if d.Ledger == nil {
		return []bundle.File{staticPiece("state/ledger.json", "ledger", nil, d.ledgerErr)}
	}
	var out bytes.Buffer
	err := report.WriteJSON(&out, d.Ledger.Summary())
	return []bundle.File{staticPiece("state/ledger.json", "ledger", out.Bytes(), err)}
}

// clusterPieces returns the Node and its CSRs as the API server returns them to
// this node.
func (d *diagnostics) clusterPieces() []bundle.File {
	add := func(name, source string, get func(context.Context) ([]byte, error)) bundle.File {
		return bundle.File{Name: name, Source: source, Get: func(ctx context.Context) (bundle.Content, error) {
			content, err := get(ctx)
			return bundle.Content{Bytes: content}, err
		}}
	}
	return []bundle.File{
		add("cluster/node.json", "Node, from the API server", func(ctx context.Context) ([]byte, error) {
			node, err := d.ownNode()
			if err != nil {
				return nil, err
			}
			return node.JSON(ctx)
		}),
		add("cluster/csr.json", "CSRs of this node, from the API server", func(ctx context.Context) ([]byte, error) {
			bootstrap, err := d.bootstrapCredential(ctx)
			if err != nil {
				return nil, err
			}
			own := d.identityFor(bootstrap)
			node, err := d.ownNode()
			if err != nil {
				if bootstrap == nil {
					return nil, err
				}
				return own.CSRsJSON(ctx, own.CSRNames())
			}
			return identity.CSRsJSON(ctx, node.Conn, node.Name, own.CSRNames())
		}),
	}
}

// ownNode returns a client for this host's Node. It fails if the host has no
// credential for it.
func (d *diagnostics) ownNode() (*node.Node, error) {
	if d.State.NodeName == "" {
		return nil, errors.New("the node has no name yet")
	}
	if _, err := os.Stat(identity.KubeconfigPath); err != nil {
		return nil, fmt.Errorf("the node has no credential: %w", err)
	}
	own, err := node.OpenNode(identity.KubeconfigPath, d.State.NodeName, nil, report.Log{})
	if err != nil {
		return nil, err
	}
	own.BootID, own.Registered, own.RequestedTaints = d.Facts.BootID, d.State.Registered, d.State.Config.Taints
	own.Host = node.JoinedHost(d.Systemd, crio.NetworkDirectory)
	return own, nil
}
