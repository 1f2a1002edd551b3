// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// verifyIssued verifies a certificate that is not stored yet.
func (i *Identity) verifyIssued(ctx context.Context, cluster kube.Cluster, p keyPair) error {
	connection, err := kube.Connect(&rest.Config{Host: cluster.Server, TLSClientConfig: rest.TLSClientConfig{
		CAData: cluster.CA, CertData: p.certificate, KeyData: p.key,
	}}, i.Proxy)
	if err != nil {
		return err
	}
	return i.verify(ctx, connection, true)
}

// verifyStored verifies the certificate in kubelet's kubeconfig.
func (i *Identity) verifyStored(ctx context.Context) error {
	connection, err := i.connectStored(kube.Cluster{})
	if err != nil {
		return err
	}
	return i.verify(ctx, connection, false)
}

// verify checks that the API server accepts this node's certificate: a node may
// read its own Node, even before it exists. This is the first request that can
// return the Node, because the bootstrap credential may not read Nodes
// (ClusterRole system:node-bootstrapper). A Node of another host is an error.
// Then the cluster checks in a dry run whether kubelet may create the Node.
func (i *Identity) verify(ctx context.Context, connection *kube.Conn, fresh bool) error {
	node, err := kube.Fetch(ctx, connection, i.Log, "verifying the node's certificate with the API server",
		func() (*corev1.Node, error) { return connection.Client.Nodes().Find(ctx, i.NodeName) })
	if err != nil {
		return i.explainRejection(connection, err)
	}
	if node != nil {
		if err := i.checkOwner(ctx, connection, node, fresh); err != nil {
			return err
		}
	}
	if i.CheckRegistration == nil {
		return nil
	}
	return i.CheckRegistration(ctx, connection, i.Log, i.NodeName, node)
}

// explainRejection returns err with an explanation if the API server rejected the
// node's certificate.
func (i *Identity) explainRejection(connection *kube.Conn, err error) error {
	if report.CodeOf(err) != report.CredentialRefused {
		return err
	}
	remedy := report.Remedyf("mv %s %s.old # then run join again: it requests a new certificate", i.Kubeconfig,
		i.Kubeconfig)
	leaf, now := readLeaf(i.clientCertificatePath()), connection.Clock.Now()
	switch {
	case leaf == nil:
		return report.Fail(report.CredentialRefused, remedy,
			"the API server rejects this node's certificate: %w", err)
	case now.After(leaf.NotAfter):
		return report.Fail(report.CredentialRefused, remedy, "this node's certificate expired at %s; the API "+
			"server's clock shows %s%s: %w",
			report.Timestamp(leaf.NotAfter), report.Timestamp(now), connection.Clock.SkewNote(time.Now()), err)
	}
	return report.Fail(report.CredentialRefused, remedy,
		"the API server rejects this node's certificate (valid from %s, issued by %q, valid until %s): its signer "+
			"may have been replaced, or the Node's permissions changed: %w",
		report.Timestamp(leaf.NotBefore), leaf.Issuer, report.Timestamp(leaf.NotAfter), err)
}

// checkClock compares the clocks if the certificate has expired by the local clock.
// If it is valid by the server's clock, a new certificate does not help:
// kubelet would consider that expired too.
func (i *Identity) checkClock(ctx context.Context) error {
	cluster, err := i.expectedCluster() // its endpoint can be newer than that in the kubeconfig
	if err != nil {
		return err
	}
	leaf := readLeaf(i.clientCertificatePath())
	connection, err := i.connectStored(kube.Cluster{Server: cluster.Server})
	if err != nil || leaf == nil {
		return nil //nolint:nilerr // nothing to connect with
	}
	// Only the Date header of the response matters. If there is no response, the
	// request for a new certificate reports why.
	_, _ = connection.Client.Nodes().Find(ctx, i.NodeName)
	return compareClocks(leaf, connection.Clock.Now(), time.Now())
}

// compareClocks returns an error if a certificate has expired by the local clock but
// not by the server's.
func compareClocks(leaf *x509.Certificate, server, local time.Time) error {
	if !local.After(leaf.NotAfter) || server.After(leaf.NotAfter) {
		return nil
	}
	return report.Fail(report.Refused, transport.ClockRemedy+" # then run join again",
		"this host's clock is wrong: it shows %s, at which this node's certificate has expired (at %s); the API "+
			"server's clock shows %s",
		report.Timestamp(local), report.Timestamp(leaf.NotAfter), report.Timestamp(server))
}

// errForeignNode means that the Node belongs to another host.
var errForeignNode = errors.New("another machine already uses this Node name")

// checkOwner fails if the Node belongs to another host: two kubelets with one name
// would remove each other's pods. A Node without a machine ID was never
// reported by a kubelet and is accepted. With fresh, an existing Node of this
// host is logged.
func (i *Identity) checkOwner(ctx context.Context, connection *kube.Conn, node *corev1.Node, fresh bool) error {
	machineID := node.Status.NodeInfo.MachineID
	if kube.IsOtherMachine(node, i.MachineID) {
		return foreignNodeError(node, i.MachineID, lastHeartbeat(node, connection.LastRenewal(ctx, node.Name)))
	}
	if fresh && machineID != "" && i.MachineID != "" {
		i.Log.Note(fmt.Sprintf("Node %s, created at %s, belongs to this machine (machine-id %s) and is kept",
			node.Name, report.Timestamp(node.CreationTimestamp.Time), machineID))
	}
	return nil
}

// foreignNodeError returns the error for a Node that belongs to another host.
func foreignNodeError(node *corev1.Node, machineID string, heartbeat time.Time) error {
	lastReport := "it has never reported to the cluster"
	if !heartbeat.IsZero() {
		lastReport = "it last reported to the cluster at " + report.Timestamp(heartbeat)
	}
	state := "not Ready"
	if kube.IsReady(node) {
		state = "Ready"
	}
	return report.Fail(report.Refused,
		report.Remedy("hostnamectl set-hostname ANOTHER-NAME # then run join again\n# or, if the other machine no "+
			"longer exists, run on the hosted cluster before the next join:\noc delete node "+node.Name),
		"%w: the machine-id of Node %s is %s, this machine's is %s; %s, %s",
		errForeignNode, node.Name, node.Status.NodeInfo.MachineID, machineID, lastReport, state)
}

// lastHeartbeat returns the latest heartbeat of a Node's kubelet.
func lastHeartbeat(node *corev1.Node, lease time.Time) time.Time {
	for _, condition := range node.Status.Conditions {
		if condition.LastHeartbeatTime.After(lease) {
			lease = condition.LastHeartbeatTime.Time
		}
	}
	return lease
}
