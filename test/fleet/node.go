// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	agentnode "github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// node is a simulated node. The code of the agent sends its requests; kubelet is simulated.
type node struct {
	name    string
	address netip.Addr
	token   *enrollment.Token
	dir     string
	fate    fate

	agent   *agentnode.Node
	kubelet *kubelet
	csr     string // client CSR
	config  string // current configuration
	attempt joinstate.Attempt
}

// newNode returns the node with an index, and its NodeEnrollment.
func (f *fleet) newNode(index int, ca []byte) (*node, *v1alpha1.NodeEnrollment, error) {
	n := &node{
		name: fmt.Sprintf("fleet-%05d", index), config: oldConfig, fate: fateOf(index),
		address: netip.AddrFrom4([4]byte{10, byte(index >> 16), byte(index >> 8), byte(index)}),
	}
	n.dir = filepath.Join(f.dir, "nodes", n.name)
	var record *enrollment.Enrollment
	var err error
	n.token, record, err = enrollment.New(enrollment.Options{
		NodeName: n.name, ClusterCA: ca, Addresses: enrollment.SinglePrefixes([]netip.Addr{n.address}),
	}, time.Now())
	if err != nil {
		return nil, nil, err
	}
	record.NodePool = nodePool
	object, err := record.Object()
	return n, object, err
}

// noProxy selects no proxy. With it, each client has a connection of its own, as on a host of its own.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // as http.Transport.Proxy returns it

// join joins the node as the agent does, and reports its state.
func (f *fleet) join(ctx context.Context, n *node) error {
	if err := f.obtainClientCertificate(ctx, n); err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	var err error
	if n.agent, err = agentnode.OpenNode(n.kubeconfig(), n.name, noProxy, report.Log{}); err != nil {
		return err
	}
	if n.kubelet, err = f.newKubelet(n); err != nil {
		return err
	}
	registered := make(chan error, 1)
	go func() { registered <- n.kubelet.start(ctx) }()
	serving := &identity.Serving{
		Conn: n.agent.Conn, NodeName: n.name, Dir: n.pkiDir(), Addresses: []netip.Addr{n.address},
		Quiet: identity.EnrolledQuiet,
		Validate: approver.ExpectedNode{
			NodeName: n.name, Addresses: enrollment.SinglePrefixes([]netip.Addr{n.address}),
		}.CheckServing,
	}
	_, err = serving.Obtain(ctx, nil)
	if err := errors.Join(err, <-registered); err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	return n.report(ctx, v1alpha1.AgentHealthy, "")
}

func (n *node) pkiDir() string { return filepath.Join(n.dir, "kubelet", "pki") }

func (n *node) kubeconfig() string { return filepath.Join(n.dir, "kubelet", "kubeconfig") }

// obtainClientCertificate runs the agent's own code: it submits the CSR with the proof of the join token, waits until
// it is approved, and stores the certificate.
func (f *fleet) obtainClientCertificate(ctx context.Context, n *node) error {
	state := filepath.Join(n.dir, "state")
	book, err := ledger.Open(state, ledger.Drivers{
		Paths:     &ledger.Paths{Tree: f.tree},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.Contents: &resource.DirSnapshot{Tree: f.tree}},
	})
	if err != nil {
		return err
	}
	defer book.Close()
	requester := &identity.Identity{
		Dir: n.pkiDir(), Kubeconfig: n.kubeconfig(), BootstrapKubeconfig: f.bootstrapKubeconfig,
		NodeName: n.name, KeyDir: state, Ledger: book, Proxy: noProxy,
		Log:      report.Log{Step: steps.ClientCertificate},
		Annotate: func(key crypto.PublicKey) (map[string]string, error) { return n.token.Sign(f.caHashes, key) },
	}
	result, err := requester.Obtain(ctx, nil)
	n.csr = result.CSR
	return err
}

// newKubelet returns the simulated kubelet of a node that has a client certificate.
func (f *fleet) newKubelet(n *node) (*kubelet, error) {
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	config.Host, config.UserAgent = f.kubelets.server(), "kubelet"
	conn, err := kube.Connect(config, noProxy)
	return &kubelet{conn: conn, name: n.name, address: n.address, dir: n.pkiDir()}, err
}

// report writes the annotations of the agent's service.
func (n *node) report(ctx context.Context, state v1alpha1.AgentState, reason string) error {
	failedSlot := ""
	if n.attempt.Failure != "" {
		failedSlot = n.attempt.Slot
	}
	return n.agent.Conn.Retry(ctx, n.agent.Log, "reporting", func() error {
		return n.agent.Annotate(ctx, map[string]string{
			v1alpha1.AnnotationReported:           report.Timestamp(time.Now()),
			v1alpha1.AnnotationState:              string(state),
			v1alpha1.AnnotationReason:             reason,
			v1alpha1.AnnotationRelease:            releases[n.config],
			v1alpha1.AnnotationCurrentConfig:      n.config,
			v1alpha1.AnnotationHostClass:          "package",
			v1alpha1.AnnotationCertificateExpires: report.Timestamp(time.Now().AddDate(1, 0, 0)),
			v1alpha1.AnnotationFailedSlot:         failedSlot,
			v1alpha1.AnnotationFailure:            n.attempt.Failure,
		})
	})
}
