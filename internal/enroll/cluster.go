// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Cluster is a hosted cluster with the credential of an administrator.
type Cluster struct {
	Server string // URL
	CA     []byte // PEM bundle

	conn   *kube.Conn
	client client.Client
}

// Connect prepares a connection with a client configuration, and checks that the cluster is a hosted cluster with the
// API of NodeEnrollment.
func Connect(ctx context.Context, config *rest.Config) (*Cluster, error) {
	const remedy = "# use a kubeconfig of the hosted cluster that contains its certificate-authority-data:\n" +
		kube.AdminKubeconfigCommand
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, report.Fail(report.Usage, remedy, "reading the files of the kubeconfig: %w", err)
	}
	if config.Insecure || len(config.CAData) == 0 {
		return nil, report.Fail(report.Usage, remedy, "the kubeconfig of the hosted cluster contains no CA, which join "+
			"tokens require")
	}
	c := &Cluster{Server: config.Host, CA: config.CAData}
	var err error
	if c.conn, err = kube.Connect(config, nil); err != nil {
		return nil, err
	}
	config.Timeout = kube.RequestTimeout
	config.QPS = -1 // the API server limits the requests
	if c.client, err = client.New(config, client.Options{Scheme: newScheme(), Mapper: newMapper()}); err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", c.Server, err)
	}
	isManagement, err := approver.IsManagementCluster(ctx, c.conn.Client)
	switch {
	case err != nil:
		return nil, c.explain(ctx, err, "connecting to the hosted cluster at "+c.Server)
	case isManagement:
		return nil, report.Fail(report.Refused, kube.AdminKubeconfigCommand+" # on the management cluster; pass the file "+
			"with --hosted-kubeconfig", "%s is a management cluster, not the hosted cluster", c.Server)
	}
	return c, approver.CheckEnrollmentAPI(ctx, c.conn.Client, c.Server)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(errors.Join(corev1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme)))
	return scheme
}

// newMapper returns the resources of the kinds that are used, so that no request for them is necessary.
func newMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, v1alpha1.GroupVersion})
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		v1alpha1.GroupVersion.WithKind("NodeEnrollment"):     meta.RESTScopeRoot,
		corev1.SchemeGroupVersion.WithKind("Node"):           meta.RESTScopeRoot,
		corev1.SchemeGroupVersion.WithKind("Secret"):         meta.RESTScopeNamespace,
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"): meta.RESTScopeNamespace,
	} {
		mapper.Add(kind, scope)
	}
	return mapper
}

// explain returns the error of a request with a remedy, nil if err is nil.
func (c *Cluster) explain(ctx context.Context, err error, doing string) error {
	return c.conn.RequestFailure(ctx, err, doing, kube.Remedies{
		Credential: "# get a current kubeconfig of the hosted cluster on the management cluster:\n" +
			kube.AdminKubeconfigCommand,
		Permission: "# use the kubeconfig of an administrator of the hosted cluster:\n" + kube.AdminKubeconfigCommand,
		Other:      report.Remedy("oc --kubeconfig hosted.kubeconfig get --raw /readyz"),
	})
}

// content describes the objects of the hosted cluster on which enrollments depend.
type content struct {
	enrollments map[string]*v1alpha1.NodeEnrollment // by the name of the node
	nodes       map[string]bool                     // names of Nodes
	owners      map[netip.Addr]string               // descriptions of the owners of addresses
	isPublished bool                                // the user data of the NodePool
}

// IsPublished reports whether the cluster contains the user data of a NodePool, so that hosts can get it.
func (c *Cluster) IsPublished(ctx context.Context, nodePool string) (bool, error) {
	name := v1alpha1.UserDataSecret(nodePool)
	secret, err := c.conn.Client.Secrets(v1alpha1.Namespace).Find(ctx, name)
	if err != nil {
		return false, c.explain(ctx, err, fmt.Sprintf("getting Secret %s in namespace %s", name, v1alpha1.Namespace))
	}
	return secret != nil && len(secret.Data[v1alpha1.UserDataKey]) > 0, nil
}

// read returns the content of the cluster.
func (c *Cluster) read(ctx context.Context, options Options) (content, error) {
	found := content{
		enrollments: map[string]*v1alpha1.NodeEnrollment{}, nodes: map[string]bool{},
		owners: map[netip.Addr]string{},
	}
	var enrollments v1alpha1.NodeEnrollmentList
	if err := c.client.List(ctx, &enrollments); err != nil {
		return found, c.explain(ctx, err, "listing the NodeEnrollments of "+c.Server)
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
	if err := c.client.List(ctx, &nodes); err != nil {
		return found, c.explain(ctx, err, "listing the Nodes of "+c.Server)
	}
	for i := range nodes.Items {
		found.nodes[nodes.Items[i].Name] = true
		for _, address := range nodes.Items[i].Status.Addresses {
			add(nodes.Items[i].Name, address.Address, "Node")
		}
	}
	var err error
	found.isPublished, err = c.IsPublished(ctx, options.NodePool)
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
