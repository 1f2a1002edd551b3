// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Identity returns the client certificate manager of the node, without the ledger that it needs to change
// anything. The state must contain the node name and the cluster.
func (b *Builder) Identity(log report.Log, registration *kubelet.RegistrationCheck) *identity.Identity {
	own := &identity.Identity{
		Dir: identity.PKIDirectory, Kubeconfig: identity.KubeconfigPath, BootstrapKubeconfig: b.BootstrapKubeconfig(),
		NodeName: b.Run.State.NodeName, MachineID: b.Host.Facts.MachineID,
		Server: b.Run.State.APIServer, CA: b.Run.State.APIServerCA,
		KeyDir: filepath.Join(b.Run.Dir, joinstate.KeyDir),
		Log:    log, Annotate: b.csrAnnotations(),
		Topology: b.Run.State.Topology(),
	}
	if registration != nil {
		own.CheckRegistration = registration.Run
	}
	return own
}

// NodeClient returns a client for this host's Node that uses the node's own
// credential.
func (b *Builder) NodeClient(log report.Log) (*node.Node, error) {
	client, err := node.OpenNode(identity.KubeconfigPath, b.Run.State.NodeName, nil, log)
	if err != nil {
		return nil, err
	}
	client.BootID, client.Host, client.RequestedTaints = b.Host.Facts.BootID, b.DiagnosticsHost(), b.Run.Config.Taints
	client.AllowCordon = b.Run.State.Upgrade != nil
	return client, nil
}

// DiagnosticsHost returns the host on which the causes of failures are searched.
func (b *Builder) DiagnosticsHost() node.Host {
	dir := crio.NetworkDirectory
	if runtime, err := desiredRuntime(b.Payload, b.Run.Config.PauseImage); err == nil && runtime.NetworkDir != "" {
		dir = runtime.NetworkDir
	}
	return node.JoinedHost(b.Host.Units, dir)
}

// csrAnnotations returns a function that returns the annotations with which the
// client CSR proves possession of the join token. It returns nil if there is no
// join token.
func (b *Builder) csrAnnotations() func(crypto.PublicKey) (map[string]string, error) {
	t := b.Run.Inputs.JoinToken
	if t == nil {
		return nil
	}
	return func(publicKey crypto.PublicKey) (map[string]string, error) {
		if err := inputs.CheckTokenValidity(t); err != nil {
			return nil, err
		}
		cluster, err := enrollment.CAHashes(b.Run.State.APIServerCA)
		if err != nil {
			return nil, err
		}
		return t.Sign(cluster, publicKey)
	}
}
