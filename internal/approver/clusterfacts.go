// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// clusterFacts gathers facts about the cluster for one batch of CSRs. It caches the addresses of
// the Nodes and the client CAs.
type clusterFacts struct {
	connection
	nodesByAddress map[netip.Addr][]string
	clientCAs      *x509.CertPool
	clientCAsError error
}

// complete adds the facts that are needed before the CSR is approved.
func (f *clusterFacts) complete(ctx context.Context, csr *kube.CSR, node string, facts Facts) (Facts, error) {
	var err error
	if csr.Spec.SignerName != certificatesv1.KubeletServingSignerName {
		facts.Node, err = getNodeState(ctx, f.connection, node)
		return facts, err
	}
	if f.nodesByAddress == nil {
		if f.nodesByAddress, err = listNodesByAddress(ctx, f.connection); err != nil {
			return facts, err
		}
	}
	facts.NodesByAddress = f.nodesByAddress
	return facts, nil
}

// getNodeState returns the state of a Node, which is never nil without an error.
func getNodeState(ctx context.Context, c connection, name string) (*NodeState, error) {
	node, err := c.client.Nodes().Find(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("getting Node %s: %w", name, err)
	}
	if node == nil {
		return &NodeState{}, nil
	}
	return StateOf(node), nil
}

// clientCAConfigMap is the ConfigMap in kube-system in which the API server publishes the CAs of
// its client certificates (ClusterAuthenticationTrust in k8s.io/kubernetes/pkg/controlplane). They
// include the signer of kubelets' client certificates.
const (
	clientCAConfigMap = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
)

// addClientCAs adds the client CAs to the facts. A missing permission or an unusable ConfigMap is a
// fact too, because it must not stop other decisions.
func (f *clusterFacts) addClientCAs(ctx context.Context, facts Facts) (Facts, error) {
	if f.clientCAs == nil && f.clientCAsError == nil {
		object, err := f.client.ConfigMaps(metav1.NamespaceSystem).Get(ctx, clientCAConfigMap)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			f.clientCAsError = err
		case err != nil:
			return facts, fmt.Errorf("reading the cluster's client CAs: %w", err)
		default:
			f.clientCAs = x509.NewCertPool()
			if !f.clientCAs.AppendCertsFromPEM([]byte(object.Data[clientCAKey])) {
				f.clientCAs = nil
				f.clientCAsError = fmt.Errorf("ConfigMap %s/%s contains no client CA", object.Namespace, object.Name)
			}
		}
	}
	facts.ClientCAs, facts.ClientCAsError = f.clientCAs, f.clientCAsError
	return facts, nil
}

// nodePageSize is the maximum number of Nodes in one response.
const nodePageSize = 500

// listNodesByAddress returns the names of the Nodes for each address. It is called only if a
// serving CSR passes all other rules. A watch would cost more, because Nodes are large and change
// often.
func listNodesByAddress(ctx context.Context, c connection) (map[netip.Addr][]string, error) {
	nodesOf := map[netip.Addr][]string{}
	options := metav1.ListOptions{Limit: nodePageSize}
	for {
		page, err := c.client.Nodes().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing the addresses of the Nodes: %w", err)
		}
		for _, node := range page.Items {
			for _, one := range node.Status.Addresses {
				if address, err := netip.ParseAddr(one.Address); err == nil {
					nodesOf[address.Unmap()] = append(nodesOf[address.Unmap()], node.Name)
				}
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nodesOf, nil
		}
	}
}
