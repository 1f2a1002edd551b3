// SPDX-License-Identifier: Apache-2.0

// Package cluster connects an administrator to the API server of a hosted or of a management cluster. It is the only
// client of the administrator's commands, and explains each request that fails.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	ownschema "github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Place is one of the two clusters.
type Place string

// The clusters.
const (
	Hosted     Place = "hosted"
	Management Place = "management"
)

// Enum returns all clusters.
func (Place) Enum() []string { return ownschema.Strings(Management, Hosted) }

// Cluster is a connection to one of the clusters with the credential of an administrator. The errors of its requests
// state what failed, with an exit code and a remedy. Those for objects that do not exist are still NotFound errors of
// the API, but not those for kinds that the cluster does not serve.
type Cluster struct {
	Place   Place
	Server  string         // URL
	CA      []byte         // PEM bundle, empty if the kubeconfig has none
	REST    rest.Interface // for requests without objects; Explain explains its errors
	Command string         // of the run, without flags for a HostedCluster; "" for another connection

	client   client.Client
	endpoint kube.Endpoint
}

// Open prepares a connection, and sends no request.
func Open(place Place, config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if err := loadFiles(config); err != nil {
		return nil, err
	}
	config.UserAgent = cmp.Or(config.UserAgent, userAgent)
	config.QPS = -1                           // the API server limits the requests
	config.WarningHandler = rest.NoWarnings{} // the default handler logs
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return bodyLimiter{base} })
	endpoint, err := kube.NewEndpoint(config, nil)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Place: place, Server: config.Host, CA: config.CAData, endpoint: endpoint}
	shared, err := rest.HTTPClientFor(config) // one connection for both
	if err == nil {
		scheme := newScheme()
		c.client, err = client.New(config, client.Options{HTTPClient: shared, Scheme: scheme, Mapper: newMapper()})
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	}
	if err == nil {
		c.REST, err = rest.UnversionedRESTClientForConfigAndClient(config, shared)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	return c, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme),
		certificatesv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme),
		authorizationv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	return scheme
}

// kinds lists the kinds that are used: those with a namespace, then those without.
func kinds() map[schema.GroupVersion][2]string {
	return map[schema.GroupVersion][2]string{
		corev1.SchemeGroupVersion:         {"ConfigMap Event Pod Secret ServiceAccount", "Namespace Node"},
		appsv1.SchemeGroupVersion:         {"Deployment", ""},
		policyv1.SchemeGroupVersion:       {"PodDisruptionBudget", ""},
		coordinationv1.SchemeGroupVersion: {"Lease", ""},
		networkingv1.SchemeGroupVersion:   {"NetworkPolicy", ""},
		rbacv1.SchemeGroupVersion:         {"Role RoleBinding", "ClusterRole ClusterRoleBinding"},
		certificatesv1.SchemeGroupVersion: {"", "CertificateSigningRequest"},
		v1alpha1.GroupVersion:             {"", "NodeEnrollment NodeRollout NodeRemediation"},

		authenticationv1.SchemeGroupVersion:        {"", "SelfSubjectReview"},
		authorizationv1.SchemeGroupVersion:         {"", "SelfSubjectAccessReview"},
		admissionregistrationv1.SchemeGroupVersion: {"", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"},

		{Group: "apiextensions.k8s.io", Version: "v1"}:  {"", "CustomResourceDefinition"},
		{Group: hyperShiftGroup, Version: "v1beta1"}:    {"HostedCluster NodePool", ""},
		{Group: "monitoring.coreos.com", Version: "v1"}: {"PodMonitor PrometheusRule", ""},
	}
}

// newMapper returns the resources of the kinds that are used, so that no request for them is necessary.
func newMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for version, names := range kinds() {
		for i, scope := range []meta.RESTScope{meta.RESTScopeNamespace, meta.RESTScopeRoot} {
			for kind := range strings.FieldsSeq(names[i]) {
				mapper.Add(version.WithKind(kind), scope)
			}
		}
	}
	return mapper
}

// CAHashes returns the hashes of the CAs that identify the cluster in enrollments. It fails if the kubeconfig has no
// CA.
func (c *Cluster) CAHashes() ([]enrollment.Hash, error) { return hashCAs(c.CA) }

// Find reads an object. It returns false if the object does not exist.
func (c *Cluster) Find(ctx context.Context, key client.ObjectKey, object client.Object) (exists bool, err error) {
	err = c.Get(ctx, key, object)
	return err == nil, client.IgnoreNotFound(err)
}

// hyperShiftGroup is the API group of HostedClusters and NodePools, which a management cluster serves and a hosted
// cluster does not.
const hyperShiftGroup = "hypershift.openshift.io"

// Serves reports whether the cluster serves an API group, or a version of it.
func (c *Cluster) Serves(ctx context.Context, path ...string) (bool, error) {
	_, err := kube.Send(ctx, c.REST.Get().AbsPath(append([]string{"/apis"}, path...)...))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, c.Explain(ctx, err, Request{Verb: "get", Kind: "API group", Name: path[0]})
}
