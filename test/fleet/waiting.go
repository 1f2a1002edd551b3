// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
)

// waitingNode runs the agent's own code to wait for approval while the fleet joins.
type waitingNode struct {
	proxy *countingProxy
	done  chan error
}

// approvalSink is a sink of events that closes begun when the wait for approval begins.
type approvalSink struct{ waiting chan struct{} }

func (w approvalSink) Emit(event report.Event) {
	if event.Kind == report.Waiting {
		select {
		case w.waiting <- struct{}{}:
		default:
		}
	}
}

// startWaiting submits the node's CSR and returns when the node waits for approval.
func startWaiting(ctx context.Context, plane *bed.ControlPlane, n *node, cluster []enrollment.Hash,
	dir string,
) (*waitingNode, error) {
	w, err := newCountingProxy(plane.APIForward)
	if err != nil {
		return nil, err
	}
	bootstrap, err := bootstrapKubeconfig(plane, w.server())
	if err != nil {
		return nil, err
	}
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return nil, err
	}
	book, err := ledger.Open(filepath.Join(dir, "state"), ledger.Drivers{
		Paths:     &ledger.Paths{Tree: tree},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.Contents: &resource.DirSnapshot{Tree: tree}},
	})
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	output := approvalSink{waiting: make(chan struct{}, 1)}
	requester := &identity.Identity{
		Dir: filepath.Join(dir, "kubelet", "pki"), Kubeconfig: filepath.Join(dir, "kubelet", "kubeconfig"),
		BootstrapKubeconfig: bootstrap,
		NodeName:            n.name, KeyDir: filepath.Join(dir, "state"), Ledger: book,
		Log:      report.Log{Sink: output, Step: steps.ClientCertificate},
		Annotate: func(key crypto.PublicKey) (map[string]string, error) { return n.token.Sign(cluster, key) },
	}
	node := &waitingNode{proxy: w, done: make(chan error, 1)}
	go func() {
		defer tree.Close()
		defer book.Close()
		_, err := requester.Obtain(ctx, nil)
		node.done <- err
	}()
	select {
	case <-output.waiting:
		return node, nil
	case err := <-node.done:
		return nil, fmt.Errorf("the waiting node did not wait: %w", err)
	}
}

// bootstrapKubeconfig returns the payload's kubeconfig with the server replaced.
func bootstrapKubeconfig(plane *bed.ControlPlane, server string) ([]byte, error) {
	content, err := os.ReadFile(plane.BootstrapKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	file, err := clientcmd.Load(content)
	if err != nil {
		return nil, fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = server
	}
	return clientcmd.Write(*file)
}
