// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

var (
	scheme         = newScheme() // the kinds that are encoded and decoded
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme,
		authorizationv1.AddToScheme, policyv1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(s))
	return s
}

// Client reads and writes objects of one cluster with one credential. Every
// request except a watch fails after RequestTimeout. The errors are those of
// client-go, so that apierrors classifies them.
type Client struct {
	core, certificates, coordination, authorization *rest.RESTClient
}

// NewClient returns a client for the cluster of config. It does not modify
// config and sends no request. Without a user agent in config, requests name
// hcp-node-agent.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = cmp.Or(config.UserAgent, "hcp-node-agent")
	config.WarningHandler = rest.NoWarnings{} // the default handler prints to standard error
	// clients back off themselves; the error of a limiter would hide the server's
	config.QPS = -1
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	shared, err := rest.HTTPClientFor(config) // one connection for all groups
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	group := func(path string, version schema.GroupVersion) *rest.RESTClient {
		config.APIPath, config.GroupVersion = path, &version
		client, failed := rest.RESTClientForConfigAndClient(config, shared)
		err = cmp.Or(err, failed)
		return client
	}
	client := &Client{
		core:          group("/api", corev1.SchemeGroupVersion),
		certificates:  group("/apis", certificatesv1.SchemeGroupVersion),
		coordination:  group("/apis", coordinationv1.SchemeGroupVersion),
		authorization: group("/apis", authorizationv1.SchemeGroupVersion),
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return client, nil
}

// Nodes returns the Nodes of the cluster.
func (c *Client) Nodes() Resource[*corev1.Node, *corev1.NodeList] {
	return newResource[corev1.Node, corev1.NodeList](c.core, "nodes", "")
}

// Pods returns the Pods of a namespace, or of all namespaces for "".
func (c *Client) Pods(namespace string) Resource[*corev1.Pod, *corev1.PodList] {
	return newResource[corev1.Pod, corev1.PodList](c.core, "pods", namespace)
}

// ConfigMaps returns the ConfigMaps of a namespace.
func (c *Client) ConfigMaps(namespace string) Resource[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return newResource[corev1.ConfigMap, corev1.ConfigMapList](c.core, "configmaps", namespace)
}

// Secrets returns the Secrets of a namespace.
func (c *Client) Secrets(namespace string) Resource[*corev1.Secret, *corev1.SecretList] {
	return newResource[corev1.Secret, corev1.SecretList](c.core, "secrets", namespace)
}

// Events returns the Events of a namespace.
func (c *Client) Events(namespace string) Resource[*corev1.Event, *corev1.EventList] {
	return newResource[corev1.Event, corev1.EventList](c.core, "events", namespace)
}

// Leases returns the Leases of a namespace.
func (c *Client) Leases(namespace string) Resource[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return newResource[coordinationv1.Lease, coordinationv1.LeaseList](c.coordination, "leases", namespace)
}

// CSR is a CertificateSigningRequest of the API.
type CSR = certificatesv1.CertificateSigningRequest

// CSRs returns the CertificateSigningRequests of the cluster.
func (c *Client) CSRs() Resource[*CSR, *certificatesv1.CertificateSigningRequestList] {
	return newResource[CSR, certificatesv1.CertificateSigningRequestList](c.certificates, "certificatesigningrequests", "")
}

// RESTClient returns the client of the core group, for requests that Resource
// does not support.
func (c *Client) RESTClient() rest.Interface { return c.core }

// RequestTimeout limits one request that is not a watch.
const RequestTimeout = 30 * time.Second

// maxRetries is the number of repetitions of a request after a lost connection or a response with Retry-After. The 10
// of client-go multiply the requests to a load balancer without servers. Callers have their own backoff.
const maxRetries = 1

// do sends a request and reads the response, within RequestTimeout.
func do(ctx context.Context, request *rest.Request) rest.Result {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return request.MaxRetries(maxRetries).Do(ctx)
}

// Send sends a request within RequestTimeout and returns the body of the response.
func Send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := do(ctx, request)
	if err := result.Error(); err != nil { // Raw returns less about an error
		return nil, err
	}
	return result.Raw()
}

// IsMissingObject reports whether an object does not exist, whereas its resource does. A server without the resource
// returns status 404 without a Status object.
func IsMissingObject(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// GetJSON decodes the response for a path, such as that of a custom resource whose Go types this module does not have.
func (c *Client) GetJSON(ctx context.Context, into any, path ...string) error {
	content, err := Send(ctx, c.core.Get().AbsPath(path...))
	if err != nil {
		return err
	}
	return wrap.Errorf(json.Unmarshal(content, into), "decoding the response for %s", strings.Join(path, "/"))
}

// Evict evicts the Pod that eviction names, through its eviction subresource.
func (c *Client) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return do(ctx, c.core.Post().Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).
		SubResource("eviction").Body(eviction)).Error()
}

// Allowed reports whether the client's credential has the right.
func (c *Client) Allowed(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	err := do(ctx, c.authorization.Post().UseProtobufAsDefault().Resource("selfsubjectaccessreviews").
		Body(review)).Into(review)
	return review.Status.Allowed, err
}
