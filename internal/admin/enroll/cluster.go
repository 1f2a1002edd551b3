// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/connect"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Cluster is a hosted cluster with the credential of an administrator.
type Cluster struct{ *cluster.Cluster }

// Open connects to the selected hosted cluster. It checks that the cluster has the API of NodeEnrollment, and that its
// CA is known.
func Open(ctx context.Context, clusters *connect.Clusters) (Cluster, error) {
	hosted, err := clusters.Hosted(ctx)
	if err != nil {
		return Cluster{}, err
	}
	return newCluster(ctx, hosted)
}

// newCluster checks that a cluster is a hosted cluster with the API of NodeEnrollment, and that its CA is known.
func newCluster(ctx context.Context, hosted *cluster.Cluster) (Cluster, error) {
	if len(hosted.CA) == 0 { // also without verification of the server, which excludes a CA
		return Cluster{}, report.Fail(report.Usage, "# use a kubeconfig of the hosted cluster that contains its "+
			"certificate-authority-data:\n"+kube.AdminKubeconfigCommand, "the kubeconfig of the hosted cluster contains no CA, "+
			"which join tokens require")
	}
	if err := hosted.CheckHosted(ctx, ""); err != nil {
		return Cluster{}, err
	}
	return Cluster{hosted}, hosted.CheckEnrollmentAPI(ctx)
}

// content describes the objects of the hosted cluster on which enrollments depend.
type content struct {
	enrollments map[string]*v1alpha1.NodeEnrollment // by the name of the node
	nodes       map[string]bool                     // names of Nodes
	owners      map[netip.Addr]string               // descriptions of the owners of addresses
	userData    []byte                              // of the NodePool, as hosts can get it; nil if it is not published
	networks    []enrollment.ClusterNetwork         // nil if they are unknown
	lost        map[string]string                   // nodes that were removed as lost; nil if that cannot be read
}

// publishedUserData returns the user data of a NodePool in the cluster, where hosts can get it, nil if there is none.
func (c Cluster) publishedUserData(ctx context.Context, nodePool string) ([]byte, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret(nodePool)}
	_, err := c.Find(ctx, key, secret)
	return secret.Data[v1alpha1.UserDataKey], err
}

// read returns the content of the cluster.
func (c Cluster) read(ctx context.Context, options Options) (content, error) {
	found := content{
		enrollments: map[string]*v1alpha1.NodeEnrollment{}, nodes: map[string]bool{},
		owners: map[netip.Addr]string{},
	}
	var enrollments v1alpha1.NodeEnrollmentList
	if err := c.List(ctx, &enrollments); err != nil {
		return found, err
	}
	own := map[string]bool{}
	for _, node := range options.Nodes {
		own[node.Name] = true
	}
	add := func(owner, address, kind string) {
		parsed, err := netip.ParseAddr(address)
		if err == nil && !own[owner] {
			found.owners[parsed.Unmap()] = kind + " " + owner
		}
	}
	for i := range enrollments.Items {
		object := &enrollments.Items[i]
		found.enrollments[object.Name] = object
		for _, address := range object.Spec.Addresses {
			add(object.Name, address, "NodeEnrollment")
		}
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return found, err
	}
	for i := range nodes.Items {
		found.nodes[nodes.Items[i].Name] = true
		for _, address := range nodes.Items[i].Status.Addresses {
			add(nodes.Items[i].Name, address.Address, "Node")
		}
	}
	found.networks = c.networks(ctx)
	var err error
	found.lost, err = lostnodes.Read(ctx, c)
	if err != nil && !apierrors.IsForbidden(err) { // without the right, only the controller refuses the host
		return found, err
	}
	found.userData, err = c.publishedUserData(ctx, options.NodePool)
	return found, err
}

// checkNode returns warnings about a node that is new to the cluster.
func (f content) checkNode(node Node, replacesNodes bool) []report.Finding {
	var findings []report.Finding
	for _, address := range node.Addresses {
		if owner := f.owners[address.Addr()]; owner != "" && address.IsSingleIP() {
			findings = append(findings, warning("address", fmt.Sprintf("%s has the address %s of %s", owner, address.Addr(),
				node.Name), report.Remedyf("oc --kubeconfig hosted.kubeconfig get nodeenrollments,nodes -o wide | grep -w %s",
				address.Addr())))
		}
	}
	if f.nodes[node.Name] && !replacesNodes {
		findings = append(findings, warning("node", fmt.Sprintf("Node %s exists already: the controller admits no other "+
			"host with this name", node.Name),
			report.Remedyf("oc --kubeconfig hosted.kubeconfig delete node %s # or enroll it with --reinstall allow", node.Name)))
	}
	return findings
}
