// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"crypto/x509"
	"errors"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// gather reads the facts and the enrollments for the review of a node's CSRs. What the credential may not read remains
// unknown, except the list of lost nodes: it fails without it.
func gather(ctx context.Context, c *cluster.Cluster, node string, csrs []*kube.CSR) (
	approver.Facts, approver.EnrollmentFacts, error,
) {
	facts := approver.Facts{Now: time.Now()}
	var err error
	if facts.CAHashes, err = c.CAHashes(); err != nil {
		return facts, approver.EnrollmentFacts{}, err
	}
	if facts.Lost, err = lostnodes.Read(ctx, c); err != nil {
		return facts, approver.EnrollmentFacts{}, err
	}
	if facts.Node, err = nodeState(ctx, c, node); err != nil && !apierrors.IsForbidden(err) {
		return facts, approver.EnrollmentFacts{}, err
	}
	if slices.ContainsFunc(csrs, approver.IsServing) {
		if facts.NodesByAddress, err = nodesByAddress(ctx, c); err != nil && !apierrors.IsForbidden(err) {
			return facts, approver.EnrollmentFacts{}, err
		}
	}
	nodes := sets.New(node)
	for _, csr := range csrs {
		content := approver.ParseCSR(csr)
		for _, address := range content.Addresses {
			nodes.Insert(facts.NodesByAddress[address]...)
		}
		if content.HasCertificate && facts.ClientCAs == nil && facts.ClientCAsError == nil {
			facts.ClientCAs, facts.ClientCAsError = clientCAs(ctx, c)
		}
	}
	objects, unreadable, err := enrollmentsOf(ctx, c, sets.List(nodes))
	enrolled := approver.EnrollmentFacts{Unreadable: unreadable}
	enrolled.Enrollments, enrolled.Invalid = facts.ReadEnrollments(objects)
	return facts, enrolled, err
}

// nodeState returns the state of a Node, nil if it cannot be read.
func nodeState(ctx context.Context, c *cluster.Cluster, name string) (*approver.NodeState, error) {
	node := &corev1.Node{}
	exists, err := c.Find(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case err != nil:
		return nil, err
	case !exists:
		return &approver.NodeState{}, nil
	}
	return approver.StateOf(node), nil
}

// nodePageSize is the maximum number of Nodes in one response.
const nodePageSize = 500

// nodesByAddress returns the names of the Nodes for each address, a map that is never nil without an error.
func nodesByAddress(ctx context.Context, c client.Reader) (map[netip.Addr][]string, error) {
	nodesOf := map[netip.Addr][]string{}
	var page corev1.NodeList
	for {
		if err := c.List(ctx, &page, client.Limit(nodePageSize), client.Continue(page.Continue)); err != nil {
			return nil, err
		}
		for i := range page.Items {
			node := &page.Items[i]
			for _, one := range node.Status.Addresses {
				if address, err := netip.ParseAddr(one.Address); err == nil {
					nodesOf[address.Unmap()] = append(nodesOf[address.Unmap()], node.Name)
				}
			}
		}
		if page.Continue == "" {
			return nodesOf, nil
		}
	}
}

// clientCAs returns the CAs of client certificates, or why they cannot be read, which is a fact for a decision too.
func clientCAs(ctx context.Context, c client.Reader) (*x509.CertPool, error) {
	object := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: approver.ClientCANamespace, Name: approver.ClientCAConfigMap}
	if err := c.Get(ctx, key, object); err != nil {
		return nil, err
	}
	return approver.ParseClientCAs(object)
}

// enrollmentsOf returns the NodeEnrollments of nodes that have one, or why they cannot be read with this credential or
// in this cluster.
func enrollmentsOf(ctx context.Context, c client.Reader, nodes []string) (
	objects []*v1alpha1.NodeEnrollment, unreadable, err error,
) {
	for _, node := range nodes {
		object := &v1alpha1.NodeEnrollment{}
		err := c.Get(ctx, client.ObjectKey{Name: node}, object)
		switch {
		case apierrors.IsNotFound(err), err == nil && object.DeletionTimestamp != nil:
			continue
		case apierrors.IsForbidden(err): // the rest of the error repeats the object and the user
			return nil, errors.New("the credential may not get nodeenrollments.hcp-node-agent.io"), nil
		case report.CodeOf(err) == report.Refused: // the cluster does not serve them
			return nil, err, nil
		case err != nil:
			return nil, nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil, nil
}
