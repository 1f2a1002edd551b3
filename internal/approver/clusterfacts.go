// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"fmt"
	"net/netip"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterFacts gathers facts about the cluster and caches the addresses of the Nodes.
type clusterFacts struct {
	connection
	nodesByAddress map[netip.Addr][]string
}

// complete adds the facts that are needed before the CSR is approved.
func (f *clusterFacts) complete(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, node string, facts Facts) (Facts, error) {
	var err error
	if csr.Spec.SignerName != certificatesv1.KubeletServingSignerName {
		facts.NodeExists, err = nodeExists(ctx, f.connection, node)
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

func nodeExists(ctx context.Context, c connection, name string) (bool, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	_, err := c.client.Nodes().Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting Node %s: %w", name, err)
	}
	return true, nil
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
		limited, cancel := withRequestTimeout(ctx)
		page, err := c.client.Nodes().List(limited, options)
		cancel()
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
