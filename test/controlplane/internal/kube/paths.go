// SPDX-License-Identifier: Apache-2.0

// Package kube starts the Kubernetes components of the test environment: etcd, the API server,
// the controller manager and the scheduler, with the identities and permissions of a HyperShift
// hosted cluster.
package kube

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/process"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/stack"
)

// Names of the bootstrap identity in a HyperShift hosted cluster.
// Source: hypershift, control-plane-operator, pki/kas.go.
const (
	BootstrapUser      = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	bootstrapNamespace = "openshift-machine-config-operator"
	approverUser       = "bed:kubelet-csr-approver"
)

// publishedCAs is the file with the CAs in the ConfigMaps kube-root-ca.crt.
const publishedCAs = "published-cas.crt"

// Config configures the control plane.
type Config struct {
	Bin     string      // directory with the binaries
	Dir     string      // directory for state, which must be empty
	Stack   stack.Stack // with the address of the API server for nodes
	APIName string      // the API's DNS name
	// InternalName is the API's DNS name inside a standalone cluster's network.
	InternalName string
	Group        *process.Group // runs the processes
	// Forward forwards an address of the caller's own network to the API server at 127.0.0.1:6443
	// in the group's network, and returns host:port.
	Forward func() (string, error)
	// Dial connects to an address inside the group's network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// OnReady is called with the name of each component that has become ready.
	OnReady func(part string)
}

func (c Config) file(name string) string { return filepath.Join(c.Dir, name) }
func (c Config) bin(name string) string  { return filepath.Join(c.Bin, name) }

func (c Config) write(name string, content []byte) error {
	return os.WriteFile(c.file(name), content, 0o600)
}
