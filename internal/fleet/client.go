// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Client reads and deletes what belongs to the nodes of a hosted cluster.
type Client struct{ Conn *kube.Conn }

// kind is a kind of object that belongs to a node.
type kind struct {
	Name, resource string
	path           []string // of its objects
}

func nodeEnrollments() kind {
	version := v1alpha1.GroupVersion
	return kind{
		Name: "NodeEnrollment", resource: "nodeenrollments." + version.Group,
		path: []string{"/apis", version.Group, version.Version, "nodeenrollments"},
	}
}

func nodes() kind {
	return kind{Name: "Node", resource: "nodes", path: []string{"/api/v1/nodes"}}
}

func serviceAccounts() kind { return coreKind("ServiceAccount", "serviceaccounts") }

func secrets() kind { return coreKind("Secret", "secrets") }

// coreKind returns a kind of the core API in the namespace of the controller.
func coreKind(name, resource string) kind {
	return kind{Name: name, resource: resource, path: []string{"/api/v1/namespaces", v1alpha1.Namespace, resource}}
}

// objectPath returns the path of one object.
func (k kind) objectPath(name string) []string { return append(k.path[:len(k.path):len(k.path)], name) }

// find decodes an object into a value. It returns false if the object does not exist.
func (c Client) find(ctx context.Context, k kind, name string, into any) (exists bool, err error) {
	err = c.Conn.Client.GetJSON(ctx, into, k.objectPath(name)...)
	switch {
	case err == nil:
		return true, nil
	case kube.IsMissingObject(err):
		return false, nil
	}
	return false, c.explain(ctx, err, "get", k)
}

// delete deletes an object unless it differs from what was read. It returns false if the object does not exist.
func (c Client) delete(ctx context.Context, k kind, name string, read metav1.Preconditions) (existed bool, err error) {
	options, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: &read,
	})
	if err != nil {
		return false, fmt.Errorf("encoding the options of a deletion: %w", err)
	}
	_, err = kube.Send(ctx, c.Conn.Client.RESTClient().Delete().AbsPath(k.objectPath(name)...).
		SetHeader("Content-Type", "application/json").Body(options))
	switch {
	case err == nil:
		return true, nil
	case kube.IsMissingObject(err):
		return false, nil
	case apierrors.IsConflict(err):
		return false, err
	}
	return false, c.explain(ctx, err, "delete", k)
}

// preconditions returns the UID that was read.
func preconditions(uid types.UID) metav1.Preconditions { return metav1.Preconditions{UID: &uid} }

// explain returns the error of a request, with a remedy for the administrator of the hosted cluster.
func (c Client) explain(ctx context.Context, err error, verb string, k kind) error {
	if apierrors.IsNotFound(err) {
		return report.Fail(report.Refused, "# select the hosted cluster with --context or --kubeconfig, or install the "+
			"API there:\noc --kubeconfig hosted.kubeconfig apply -k deploy/hosted-base",
			"%s does not serve %s: the API of NodeEnrollments is not installed, or it is not the hosted cluster",
			c.Conn.Server, k.resource)
	}
	return c.Conn.RequestFailure(ctx, err, fmt.Sprintf("%s %s of %s", progressive[verb], k.resource, c.Conn.Server),
		kube.Remedies{
			Credential: "# log in to the hosted cluster again, for example with oc login",
			Permission: grantRemedy(verb, k),
			Other:      report.Remedy("oc get --raw /readyz # prints whether the API server is ready"),
		})
}

// progressive maps verbs to the form in messages.
var progressive = map[string]string{
	"get": "getting", "list": "listing", "watch": "watching", "delete": "deleting",
	"create": "creating", "update": "updating",
}

// grantRemedy returns the commands that grant a permission.
func grantRemedy(verb string, k kind) report.Remedy {
	role := "hcp-node-" + verb + "-" + k.path[len(k.path)-1]
	if k.path[0] != serviceAccounts().path[0] {
		return report.Remedyf("# an administrator of the hosted cluster grants the permission to USER:\n"+
			"oc create clusterrole %[1]s --verb=%[2]s --resource=%[3]s\n"+
			"oc create clusterrolebinding %[1]s --clusterrole=%[1]s --user=USER", role, verb, k.resource)
	}
	return report.Remedyf("# an administrator of the hosted cluster grants the permission to USER:\n"+
		"oc -n %[1]s create role %[2]s --verb=%[3]s --resource=%[4]s\n"+
		"oc -n %[1]s create rolebinding %[2]s --role=%[2]s --user=USER", v1alpha1.Namespace, role, verb, k.resource)
}
