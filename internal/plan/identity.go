// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Identity returns the client certificate manager of the node, without the ledger that it needs to change
// anything. The state must contain the node name and the cluster.
func (s *Session) Identity(
	payload *ignition.Payload, log report.Log, registration *kubelet.RegistrationCheck,
) *identity.Identity {
	own := &identity.Identity{
		Dir: identity.PKIDirectory, Kubeconfig: identity.KubeconfigPath, BootstrapKubeconfig: payload.BootstrapKubeconfig(),
		NodeName: s.Run.State.NodeName, MachineID: s.Host.Facts.MachineID,
		Server: s.Run.State.APIServer, CA: s.Run.State.APIServerCA,
		KeyDir: filepath.Join(s.Run.Dir, joinstate.KeyDir),
		Log:    log, Annotate: s.Run.csrAnnotations(),
		Topology: s.Run.State.Topology(),
	}
	if registration != nil {
		own.CheckRegistration = registration.Run
	}
	return own
}

// NodeClient returns a client for this host's Node that uses the node's own
// credential.
func (s *Session) NodeClient(payload *ignition.Payload, log report.Log) (*node.Node, error) {
	client, err := node.OpenNode(identity.KubeconfigPath, s.Run.State.NodeName, nil, log)
	if err != nil {
		return nil, err
	}
	client.BootID, client.Host = s.Host.Facts.BootID, s.DiagnosticsHost(payload)
	client.RequestedTaints = s.Run.Config.Taints
	client.AllowCordon = s.Run.State.Upgrade != nil
	return client, nil
}

// DiagnosticsHost returns the host on which the causes of failures are searched. The payload is nil if it was not
// loaded.
func (s *Session) DiagnosticsHost(payload *ignition.Payload) node.Host {
	dir := crio.NetworkDirectory
	if payload != nil {
		runtime, err := DesiredRuntime(payload, s.Run.Config.PauseImage)
		if err == nil && runtime.NetworkDir != "" {
			dir = runtime.NetworkDir
		}
	}
	return node.JoinedHost(s.Host.Units, dir)
}

// csrAnnotations returns a function that returns the annotations with which the
// client CSR proves possession of the join token. It returns nil if there is no
// join token.
func (r *Run) csrAnnotations() func(crypto.PublicKey) (map[string]string, error) {
	t := r.JoinToken
	if t == nil {
		return nil
	}
	return func(publicKey crypto.PublicKey) (map[string]string, error) {
		if err := request.CheckTokenValidity(t); err != nil {
			return nil, err
		}
		cluster, err := enrollment.CAHashes(r.State.APIServerCA)
		if err != nil {
			return nil, err
		}
		return t.Sign(cluster, publicKey)
	}
}
