// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// gather reads the facts and the enrollments for the review of a node's CSRs. What the credential may not read remains
// unknown.
func (a *Approver) gather(ctx context.Context, node string, csrs []*kube.CSR) (Facts, enrollmentFacts, error) {
	facts := Facts{Now: time.Now(), CAHashes: a.caHashes}
	var err error
	if facts.Node, err = a.nodeState(ctx, node); err != nil && !apierrors.IsForbidden(err) {
		return facts, enrollmentFacts{}, err
	}
	if slices.ContainsFunc(csrs, IsServing) {
		if facts.NodesByAddress, err = a.nodesByAddress(ctx); err != nil && !apierrors.IsForbidden(err) {
			return facts, enrollmentFacts{}, err
		}
	}
	nodes := sets.New(node)
	for _, csr := range csrs {
		concerns := ConcernsOf(csr)
		for _, address := range concerns.Addresses {
			nodes.Insert(facts.NodesByAddress[address]...)
		}
		if concerns.NeedsClientCAs && facts.ClientCAs == nil && facts.ClientCAsError == nil {
			facts.ClientCAs, facts.ClientCAsError = a.clientCAs(ctx)
		}
	}
	objects, unreadable, err := a.enrollmentsOf(ctx, sets.List(nodes))
	enrolled := enrollmentFacts{unreadable: unreadable}
	enrolled.Enrollments, enrolled.invalid = facts.ReadEnrollments(objects)
	return facts, enrolled, err
}

// nodeState returns the state of a Node, which is never nil without an error.
func (c connection) nodeState(ctx context.Context, name string) (*NodeState, error) {
	node, err := c.client.Nodes().Find(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("getting Node %s: %w", name, err)
	}
	if node == nil {
		return &NodeState{}, nil
	}
	return StateOf(node), nil
}

// nodePageSize is the maximum number of Nodes in one response.
const nodePageSize = 500

// nodesByAddress returns the names of the Nodes for each address, a map that is never nil without an error.
func (c connection) nodesByAddress(ctx context.Context) (map[netip.Addr][]string, error) {
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

// clientCAs returns the CAs of client certificates, or why they cannot be read, which is a fact for a decision too.
func (c connection) clientCAs(ctx context.Context) (*x509.CertPool, error) {
	object, err := c.client.ConfigMaps(ClientCANamespace).Get(ctx, ClientCAConfigMap)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's client CAs: %w", err)
	}
	return ParseClientCAs(object)
}

// enrollmentsOf returns the NodeEnrollments of nodes that have one, or why they cannot be read with this credential or
// in this cluster.
func (c connection) enrollmentsOf(ctx context.Context, nodes []string) (
	objects []*v1alpha1.NodeEnrollment, unreadable, err error,
) {
	for _, node := range nodes {
		object := &v1alpha1.NodeEnrollment{}
		err := c.client.GetJSON(ctx, object, "/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version,
			"nodeenrollments", node)
		switch {
		case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err):
			return nil, errNotServed, nil
		case apierrors.IsForbidden(err):
			return nil, err, nil
		case apierrors.IsNotFound(err), err == nil && object.DeletionTimestamp != nil:
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("getting the NodeEnrollment of %s: %w", node, err)
		}
		objects = append(objects, object)
	}
	return objects, nil, nil
}
