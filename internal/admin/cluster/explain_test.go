// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/apitest"
)

const server = "https://api.example.com:6443"

// failing returns a cluster whose requests all fail with an error.
func failing(place Place, err error) *Cluster {
	return &Cluster{
		Place: place, Server: server, endpoint: kube.Endpoint{Server: server, Clock: &kube.ServerClock{}},
		client: fake.NewClientBuilder().WithScheme(newScheme()).WithRESTMapper(newMapper()).
			WithInterceptorFuncs(interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return err
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return err
				},
				Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
					return err
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return err
				},
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return err
				},
				SubResourceCreate: func(
					context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption,
				) error {
					return err
				},
				SubResourceUpdate: func(
					context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption,
				) error {
					return err
				},
			}).Build(),
	}
}

// requests are requests with each verb, by the words for them.
func requests() map[string]func(context.Context, *Cluster) error {
	enrollment := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "node-worker-1"}}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "x\x1b[2J"}}
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	deployment.SetNamespace("ns")
	deployment.SetName("controller")
	return map[string]func(context.Context, *Cluster) error{
		"getting Secret ns/a": func(ctx context.Context, c *Cluster) error {
			return c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, &corev1.Secret{})
		},
		"listing NodeEnrollments": func(ctx context.Context, c *Cluster) error {
			return c.List(ctx, &v1alpha1.NodeEnrollmentList{})
		},
		"listing Secrets in namespace ns": func(ctx context.Context, c *Cluster) error {
			return c.List(ctx, &corev1.SecretList{}, client.InNamespace("ns"))
		},
		"creating NodeEnrollment worker-1": func(ctx context.Context, c *Cluster) error { return c.Create(ctx, enrollment) },
		"updating NodeEnrollment worker-1": func(ctx context.Context, c *Cluster) error { return c.Update(ctx, enrollment) },
		"deleting ServiceAccount ns/node-worker-1": func(ctx context.Context, c *Cluster) error {
			return c.Delete(ctx, account)
		},
		"applying Deployment ns/controller": func(ctx context.Context, c *Cluster) error { return c.Apply(ctx, deployment) },
		"creating the token of ServiceAccount ns/node-worker-1": func(ctx context.Context, c *Cluster) error {
			return c.CreateSub(ctx, "token", account, &authenticationv1.TokenRequest{})
		},
		`updating the approval of CertificateSigningRequest "x\x1b[2J"`: func(ctx context.Context, c *Cluster) error {
			return c.UpdateSub(ctx, "approval", csr)
		},
	}
}

// forbidden returns the error of an API server for a missing right.
func forbidden(text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "a"}, "b", errors.New(text))
}

// Each verb fails with each cause, in both clusters.
func TestExplain(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	terminating := apierrors.NewForbidden(resource, "a", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	refused := &url.Error{Op: "Get", URL: server, Err: syscall.ECONNREFUSED}
	for name, cause := range map[string]struct {
		err    error
		code   report.Code
		want   string           // in the message
		remedy map[Place]string // a part of it
		is     func(error) bool // how callers classify it; nil for none
	}{
		"401": {
			apierrors.NewUnauthorized(""), report.CredentialRefused, ": the credential of the kubeconfig is rejected (HTTP 401)",
			map[Place]string{Hosted: kube.AdminKubeconfigCommand, Management: "# log in to the management cluster again"},
			nil,
		},
		"403": {
			forbidden(`User "alice" cannot list resource "nodes" in API group "" at the cluster scope`),
			report.CredentialRefused, ": no permission: ",
			map[Place]string{
				Hosted: "oc --kubeconfig hosted.kubeconfig create clusterrole hcp-node-list-nodes --verb=list " +
					"--resource=nodes\n",
				Management: "--clusterrole=hcp-node-list-nodes --user=alice",
			},
			apierrors.IsForbidden,
		},
		"another 403": {
			forbidden("user not permitted to approve requests with signerName"), report.CredentialRefused, ": no permission: ",
			map[Place]string{
				Hosted:     "# use the kubeconfig of an administrator of the hosted cluster:\nhcp-node-admin kubeconfig ",
				Management: "# use the kubeconfig of an administrator of the management cluster",
			},
			apierrors.IsForbidden,
		},
		"terminating namespace": {
			terminating, report.Failed, "", map[Place]string{Hosted: "when the namespace is deleted"}, nil,
		},
		"404": {apierrors.NewNotFound(resource, "a"), report.Failed, ": secrets \"a\" not found", nil, apierrors.IsNotFound},
		"409": {apierrors.NewConflict(resource, "a", nil), report.Failed, "", nil, apierrors.IsConflict},
		"existing object": {
			apierrors.NewAlreadyExists(resource, "a"), report.Failed, "already exists", nil, apierrors.IsAlreadyExists,
		},
		"422": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "a", nil), report.Usage, `: Secret "a" is invalid`, nil,
			nil,
		},
		"503": {
			apierrors.NewServiceUnavailable("etcd is down"), report.Failed, ": etcd is down",
			map[Place]string{Hosted: "oc --kubeconfig hosted.kubeconfig get --raw /readyz"},
			nil,
		},
		"no response": {refused, report.Failed, "refused the connection", map[Place]string{Management: "curl"}, nil},
	} {
		for words, send := range requests() {
			for _, place := range []Place{Hosted, Management} {
				err := send(t.Context(), failing(place, cause.err))
				prefix := words + " on the " + string(place) + " cluster " + server
				if report.CodeOf(err) != cause.code || !strings.HasPrefix(fmt.Sprint(err), prefix) ||
					!strings.Contains(fmt.Sprint(err), cause.want) || cause.is != nil && !cause.is(err) {
					t.Errorf("%s, %s: code %d, %v; want %q and %q", name, words, report.CodeOf(err), err, prefix, cause.want)
				}
				if remedy := string(report.RemedyOf(err)); !strings.Contains(remedy, cause.remedy[place]) {
					t.Errorf("%s, %s in the %s cluster: remedy %q, want %q", name, words, place, remedy, cause.remedy[place])
				}
			}
		}
	}
}

// A kind that the cluster does not serve is no object that does not exist.
func TestExplainKindsThatAreNotServed(t *testing.T) {
	notFound := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "404", 0, true)
	unknown := &meta.NoKindMatchError{}
	pool := Request{Verb: "get", Group: hyperShiftGroup, Kind: "NodePool", Namespace: "clusters", Name: "workers"}
	enrollment := Request{Verb: "list", Group: v1alpha1.GroupVersion.Group, Kind: "NodeEnrollment"}
	served, err := Open(Hosted, apitest.Start(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		place        Place
		request      Request
		want, remedy string
	}{
		"enrollment":         {Hosted, enrollment, "the API of NodeEnrollments is not installed", "-k deploy/hosted-base"},
		"NodePool":           {Management, pool, "does not serve nodepools.hypershift.openshift.io;", " config get-contexts"},
		"in another cluster": {Hosted, pool, server + " does not serve nodepools.hypershift", " api-resources"},
	} {
		for _, cause := range []error{notFound, unknown} {
			c := failing(test.place, nil)
			c.REST = served.REST
			err := c.Explain(t.Context(), cause, test.request)
			if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) || apierrors.IsNotFound(err) {
				t.Errorf("%s: code %d, %v, remedy %q", name, report.CodeOf(err), err, report.RemedyOf(err))
			}
		}
	}
}

// The remedy grants the right that is missing to the user of the request.
func TestGrantRemedy(t *testing.T) {
	const grants = "# an administrator of the hosted cluster grants the permission:\n"
	const administrator = "# use the kubeconfig of an administrator of the hosted cluster:\n" + kube.AdminKubeconfigCommand
	for text, want := range map[string]string{
		`User "alice" cannot get resource "nodepools" in API group "hypershift.openshift.io" in the namespace ` +
			`"clusters"`: grants +
			"oc --kubeconfig hosted.kubeconfig -n clusters create role hcp-node-get-nodepools --verb=get " +
			"--resource=nodepools.hypershift.openshift.io,hostedclusters.hypershift.openshift.io\n" +
			"oc --kubeconfig hosted.kubeconfig -n clusters create rolebinding hcp-node-get-nodepools " +
			"--role=hcp-node-get-nodepools --user=alice",
		`User "alice" cannot update resource "certificatesigningrequests/approval" in API group "certificates.k8s.io" at ` +
			`the cluster scope`: administrator,
		`User "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" cannot list resource "nodes" in ` +
			`API group "" at the cluster scope`: administrator,
		`User "system:node:worker-1" cannot list resource "nodes" in API group "" at the cluster scope`: administrator,
		`User "system:serviceaccount:a:b" cannot list resource "nodeenrollments" in API group "hcp-node-agent.io" at the ` +
			`cluster scope`: grants +
			"oc --kubeconfig hosted.kubeconfig create clusterrole hcp-node-list-nodeenrollments --verb=list " +
			"--resource=nodeenrollments.hcp-node-agent.io\n" +
			"oc --kubeconfig hosted.kubeconfig create clusterrolebinding hcp-node-list-nodeenrollments " +
			"--clusterrole=hcp-node-list-nodeenrollments " +
			"--user=system:serviceaccount:a:b",
		`User "a'; rm -rf /" cannot list resource "nodes" in API group "" at the cluster scope`: grants +
			"oc --kubeconfig hosted.kubeconfig create clusterrole hcp-node-list-nodes --verb=list --resource=nodes\n" +
			"oc --kubeconfig hosted.kubeconfig create clusterrolebinding hcp-node-list-nodes " +
			"--clusterrole=hcp-node-list-nodes --user=" +
			report.ShellWord(`a'; rm -rf /`),
	} {
		if got := string(failing(Hosted, nil).grantRemedy(forbidden(text))); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// An error that was explained is not explained again, and a request that was interrupted is no failure of the server.
func TestExplainOnce(t *testing.T) {
	c := failing(Hosted, nil)
	first := c.Explain(t.Context(), apierrors.NewUnauthorized(""), Request{Verb: "get", Kind: "Node", Name: "a"})
	if again := c.Explain(t.Context(), first, Request{Verb: "list", Kind: "Secret"}); !errors.Is(again, first) {
		t.Errorf("%v, then %v", first, again)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := c.Explain(ctx, context.Canceled, Request{Verb: "list", Kind: "Node"})
	if report.CodeOf(err) != report.Interrupted || !strings.HasPrefix(err.Error(), "listing Nodes on the hosted ") {
		t.Errorf("code %d, %v", report.CodeOf(err), err)
	}
}

func TestFind(t *testing.T) {
	for err, want := range map[error]bool{nil: true, apierrors.NewNotFound(schema.GroupResource{}, "a"): false} {
		exists, got := failing(Hosted, err).Find(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Node{})
		if exists != want || got != nil {
			t.Errorf("%v: %v, %v", err, exists, got)
		}
	}
	_, err := failing(Hosted, apierrors.NewUnauthorized("")).Find(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Node{})
	if report.CodeOf(err) != report.CredentialRefused {
		t.Errorf("%v", err)
	}
}
