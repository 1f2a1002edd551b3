// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// gathered contains the facts for the decision on one CSR.
type gathered struct {
	facts       approver.Facts
	enrollments approver.Enrollments
	objects     map[string]*v1alpha1.NodeEnrollment // by the name of the node
}

// nodes returns the nodes on which a decision depends: the node of the CSR, and those whose enrollments it content.
func (g gathered) nodes(decision approver.Decision) sets.Set[string] {
	nodes := sets.KeySet(g.objects)
	if enrollment.CheckNodeName(decision.Node) == nil {
		nodes.Insert(decision.Node)
	}
	return nodes
}

// gather reads the enrollments that a CSR concerns, and the state of its node.
func (r *csrReconciler) gather(ctx context.Context, csr *kube.CSR) (gathered, error) {
	content := approver.ParseCSR(csr)
	found := gathered{objects: map[string]*v1alpha1.NodeEnrollment{}}
	if err := r.addEnrollments(ctx, content, &found); err != nil {
		return found, err
	}
	if err := r.addLost(ctx, &found); err != nil || len(found.objects) == 0 {
		return found, err
	}
	found.facts.Now, found.facts.CAHashes = time.Now(), r.caHashes
	addNodes := r.addNode
	if approver.IsServing(csr) {
		addNodes = r.addNodesByAddress
	}
	if err := addNodes(ctx, content, &found); err != nil {
		return found, err
	}
	if content.HasCertificate {
		found.facts.ClientCAs, found.facts.ClientCAsError = r.clientCAs.get(ctx)
	}
	objects := slices.Collect(maps.Values(found.objects))
	valid, invalid := found.facts.ReadEnrollments(objects)
	found.enrollments = valid
	for node, err := range invalid {
		log.FromContext(ctx).Info("invalid NodeEnrollment", "node", node, "error", err.Error())
	}
	return found, nil
}

// addLost adds the nodes that were removed as lost. If an enrollment can permit an approval, it reads the API server:
// with a cache that is behind, a host could get a certificate after its removal.
func (r *csrReconciler) addLost(ctx context.Context, found *gathered) error {
	reader := r.live
	if len(found.objects) == 0 {
		reader = r.client
	}
	var err error
	if found.facts.Lost, err = lostnodes.Read(ctx, reader); err != nil {
		return fmt.Errorf("reading the list of lost nodes: %w", err)
	}
	return nil
}

// addEnrollments adds the enrollments of the join token and of the nodes that a CSR names.
func (r *csrReconciler) addEnrollments(ctx context.Context, content approver.Content, found *gathered) error {
	for _, name := range content.EnrolledNodes() {
		if err := r.addEnrollment(ctx, name, found); err != nil {
			return err
		}
	}
	if content.TokenID == "" {
		return nil
	}
	var list v1alpha1.NodeEnrollmentList
	if err := r.client.List(ctx, &list, client.MatchingFields{tokenIndex: content.TokenID}); err != nil {
		return fmt.Errorf("listing the enrollments: %w", err)
	}
	if len(list.Items) == 1 { // of two with the same token, that of the node which the CSR names applies
		return r.addEnrollment(ctx, list.Items[0].Name, found)
	}
	return nil
}

// addEnrollment adds the enrollment of a node, if it has one that is not being deleted.
func (r *csrReconciler) addEnrollment(ctx context.Context, node string, found *gathered) error {
	var object v1alpha1.NodeEnrollment
	err := r.client.Get(ctx, client.ObjectKey{Name: node}, &object)
	switch {
	case apierrors.IsNotFound(err), err == nil && object.DeletionTimestamp != nil:
		return nil
	case err != nil:
		return fmt.Errorf("getting the enrollment of %s: %w", node, err)
	}
	found.objects[node] = &object
	return nil
}

// addNode adds the state of the CSR's node. It reads the API server: with a cache that is behind, a host could get the
// certificate of a node that exists.
func (r *csrReconciler) addNode(ctx context.Context, content approver.Content, found *gathered) error {
	var node corev1.Node
	found.facts.Node = &approver.NodeState{}
	if enrollment.CheckNodeName(content.Node) != nil {
		return nil //nolint:nilerr // no enrollment permits the name
	}
	err := r.live.Get(ctx, client.ObjectKey{Name: content.Node}, &node)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("getting Node %s: %w", content.Node, err)
	}
	found.facts.Node = approver.StateOf(&node)
	return nil
}

// addNodesByAddress adds the nodes that report the addresses of the CSR, and their enrollments.
func (r *csrReconciler) addNodesByAddress(ctx context.Context, content approver.Content, found *gathered) error {
	found.facts.NodesByAddress = map[netip.Addr][]string{}
	for _, address := range content.Addresses {
		var list corev1.NodeList
		if err := r.client.List(ctx, &list, client.MatchingFields{addressIndex: address.String()}); err != nil {
			return fmt.Errorf("listing the Nodes with the address %s: %w", address, err)
		}
		for i := range list.Items {
			owner := list.Items[i].Name
			found.facts.NodesByAddress[address] = append(found.facts.NodesByAddress[address], owner)
			if err := r.addEnrollment(ctx, owner, found); err != nil {
				return err
			}
		}
	}
	return nil
}
