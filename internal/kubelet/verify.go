package kubelet

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clientConfig is how a node connects with a certificate that is in no file.
func clientConfig(cluster Cluster, p pair) *rest.Config {
	return &rest.Config{Host: cluster.Server, TLSClientConfig: rest.TLSClientConfig{
		CAData: cluster.CA, CertData: p.certificate, KeyData: p.key,
	}}
}

// verifyStored verifies what kubelet's kubeconfig has.
func (i *Identity) verifyStored(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading kubelet's kubeconfig: %w", err)
	}
	return i.verify(ctx, config, false)
}

// verify asks the API server whether it takes this node's certificate for what
// it is: a node may read its own Node, also one that does not exist yet. It is
// the first moment at which the Node can be seen, because the bootstrap
// credential may read none (ClusterRole system:node-bootstrapper): one of
// another machine is refused. Then the cluster is asked whether kubelet may
// make the Node as it will.
func (i *Identity) verify(ctx context.Context, config *rest.Config, fresh bool) error {
	connection, err := connect(config, i.Proxy)
	if err != nil {
		return err
	}
	var node *corev1.Node
	err = connection.persist(ctx, i.Log, "showing the node's certificate to the API server", func(ctx context.Context) error {
		found, err := connection.client.Nodes().Get(ctx, i.NodeName)
		if apierrors.IsNotFound(err) {
			return nil
		}
		node = found
		return err //nolint:wrapcheck // persist explains it
	})
	if err != nil {
		return i.refusedNode(connection, err)
	}
	if node != nil {
		if err := i.owner(ctx, connection, node, fresh); err != nil {
			return err
		}
	}
	if i.Register == nil {
		return nil
	}
	return i.Register.ask(ctx, connection, i.Log, i.NodeName, node)
}

// refusedNode says more about a node's certificate that is not accepted.
func (i *Identity) refusedNode(connection *api, err error) error {
	if report.CodeOf(err) != report.CredentialRefused {
		return err
	}
	remedy := fmt.Sprintf("mv %s %s.old # then run join again: it asks for a new certificate", i.Kubeconfig, i.Kubeconfig)
	leaf, now := leafOf(i.current()), connection.clock.now()
	switch {
	case leaf == nil:
		return report.Fail(report.CredentialRefused, remedy, "the API server does not accept this node's certificate: %w", err)
	case now.After(leaf.NotAfter):
		return report.Fail(report.CredentialRefused, remedy, "this node's certificate expired at %s; the API server's clock says %s%s: %w",
			stamp(leaf.NotAfter), stamp(now), connection.clock.apart(time.Now()), err)
	}
	return report.Fail(report.CredentialRefused, remedy,
		"the API server does not accept this node's certificate (of %s, issued by %q, valid until %s), as after its signer was replaced or the Node's rights were changed: %w",
		stamp(leaf.NotBefore), leaf.Issuer, stamp(leaf.NotAfter), err)
}

// doubt asks the API server about a certificate that has expired by this
// machine's clock. Where the server's clock says otherwise, another
// certificate would be of no use: kubelet would take that for expired too.
func (i *Identity) doubt(ctx context.Context) error {
	leaf := leafOf(i.current())
	config, err := clientcmd.BuildConfigFromFlags("", i.Kubeconfig)
	if err != nil || leaf == nil {
		return nil // there is nothing to ask with
	}
	connection, err := connect(config, i.Proxy)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// What it answers does not matter, only when; without an answer the way to
	// a new certificate says what is wrong.
	_, _ = connection.client.Nodes().Get(ctx, i.NodeName)
	return clockOf(leaf, connection.clock.now(), time.Now())
}

// clockOf refuses to go on with a clock by which a good certificate has
// expired.
func clockOf(leaf *x509.Certificate, server, local time.Time) error {
	if !local.After(leaf.NotAfter) || server.After(leaf.NotAfter) {
		return nil
	}
	return report.Fail(report.Refused, clockRemedy+" # then run join again",
		"this machine's clock is wrong: it says %s, at which this node's certificate has expired (at %s); the API server's clock says %s",
		stamp(local), stamp(leaf.NotAfter), stamp(server))
}
