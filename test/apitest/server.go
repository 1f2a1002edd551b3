// SPDX-License-Identifier: Apache-2.0

// Package apitest contains an API server in memory, for tests of the clients of a cluster. It stores objects, and
// checks neither their schemas nor permissions: tests with the real API server do that.
package apitest

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Groups that a cluster serves only if they are installed.
const (
	Enrollments = "hcp-node-agent.io"
	HyperShift  = "hypershift.openshift.io"
	Monitoring  = "monitoring.coreos.com" // the Prometheus Operator
	OpenShift   = "operator.openshift.io"
	Policies    = "admissionregistration.k8s.io"
)

// kinds lists the kinds that a server supports, by group and version: those with a namespace, then those without.
var kinds = map[string][2]string{
	"v1":                              {"ConfigMap Event Pod Secret ServiceAccount", "Namespace Node"},
	"apps/v1":                         {"Deployment", ""},
	"policy/v1":                       {"PodDisruptionBudget", ""},
	"coordination.k8s.io/v1":          {"Lease", ""},
	"networking.k8s.io/v1":            {"NetworkPolicy", ""},
	"rbac.authorization.k8s.io/v1":    {"Role RoleBinding", "ClusterRole ClusterRoleBinding"},
	"certificates.k8s.io/v1":          {"", "CertificateSigningRequest"},
	"apiextensions.k8s.io/v1":         {"", "CustomResourceDefinition"},
	v1alpha1.GroupVersion.String():    {"", "NodeEnrollment NodeRollout NodeRemediation"},
	"hypershift.openshift.io/v1beta1": {"HostedCluster NodePool", ""},
	"monitoring.coreos.com/v1":        {"PodMonitor PrometheusRule", ""},
	"operator.openshift.io/v1":        {"", "Network"},
	"admissionregistration.k8s.io/v1": {"", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"},
	"authentication.k8s.io/v1":        {"", "SelfSubjectReview"},
	"authorization.k8s.io/v1":         {"", "SelfSubjectAccessReview"},
}

// Server is an API server.
type Server struct {
	// Before is called before a request is handled, unless it is nil. The request fails with its error. Before must not
	// be changed while requests are sent.
	Before func(*http.Request) error

	http     *httptest.Server
	scheme   *runtime.Scheme
	mapper   *meta.DefaultRESTMapper
	versions []schema.GroupVersion

	mutex    sync.Mutex
	objects  map[string]*unstructured.Unstructured // by path
	revision int
}

// Start starts a server until the test ends. It serves the groups of Kubernetes, and those that are installed.
func Start(t *testing.T, installed ...string) *Server {
	t.Helper()
	s := &Server{
		scheme: runtime.NewScheme(), mapper: meta.NewDefaultRESTMapper(nil),
		objects: map[string]*unstructured.Unstructured{},
	}
	utilruntime.Must(clientscheme.AddToScheme(s.scheme))
	utilruntime.Must(v1alpha1.AddToScheme(s.scheme))
	for text, names := range kinds {
		version, err := schema.ParseGroupVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		isOptional := slices.Contains([]string{Enrollments, HyperShift, Monitoring, OpenShift, Policies}, version.Group)
		if isOptional && !slices.Contains(installed, version.Group) {
			continue
		}
		s.versions = append(s.versions, version)
		for i, scope := range []meta.RESTScope{meta.RESTScopeNamespace, meta.RESTScopeRoot} {
			for name := range strings.FieldsSeq(names[i]) {
				s.mapper.Add(version.WithKind(name), scope)
			}
		}
	}
	s.http = httptest.NewTLSServer(s)
	t.Cleanup(s.http.Close)
	return s
}

// Config returns the configuration of an administrator's client.
func (s *Server) Config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	return &rest.Config{Host: s.http.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

// Kubeconfig returns the kubeconfig of an administrator.
func (s *Server) Kubeconfig(t *testing.T) []byte {
	t.Helper()
	const name = "test"
	file := api.NewConfig()
	file.Clusters[name] = &api.Cluster{Server: s.http.URL, CertificateAuthorityData: s.Config().CAData}
	file.AuthInfos[name] = &api.AuthInfo{Token: "administrator"}
	file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Stop stops the server before the end of the test.
func (s *Server) Stop() { s.http.Close() }

// Reject returns a function for Before that rejects requests of a method for paths with a suffix.
func Reject(method, suffix string, err error) func(*http.Request) error {
	return func(request *http.Request) error {
		if request.Method == method && strings.HasSuffix(request.URL.Path, suffix) {
			return err
		}
		return nil
	}
}

// Forbidden returns the error for a missing permission.
func Forbidden() error { return apierrors.NewForbidden(schema.GroupResource{}, "", nil) }

// Set creates or replaces objects with their status.
func (s *Server) Set(t *testing.T, objects ...client.Object) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		stored := &unstructured.Unstructured{Object: content}
		stored.SetGroupVersionKind(s.kindOf(t, object))
		s.store(s.pathOf(t, object), stored)
	}
}

// Delete deletes an object.
func (s *Server) Delete(t *testing.T, object client.Object) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.objects, s.pathOf(t, object))
}

// Get reads an object. It returns false if the object does not exist.
func (s *Server) Get(t *testing.T, object client.Object) bool {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	stored := s.objects[s.pathOf(t, object)]
	if stored == nil {
		return false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, object); err != nil {
		t.Fatal(err)
	}
	return true
}

// Names returns the objects in the form KIND/NAME, sorted.
func (s *Server) Names() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var names []string
	for object := range maps.Values(s.objects) {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	slices.Sort(names)
	return names
}

func (s *Server) kindOf(t *testing.T, object client.Object) schema.GroupVersionKind {
	t.Helper()
	kind, err := apiutil.GVKForObject(object, s.scheme)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

func (s *Server) pathOf(t *testing.T, object client.Object) string {
	t.Helper()
	kind := s.kindOf(t, object)
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	path := versionPath(kind.GroupVersion()) + "/"
	if mapping.Scope == meta.RESTScopeNamespace {
		path += "namespaces/" + object.GetNamespace() + "/"
	}
	return path + mapping.Resource.Resource + "/" + object.GetName()
}

// versionPath returns the path of a version: /api/v1 or /apis/GROUP/VERSION.
func versionPath(version schema.GroupVersion) string {
	if version.Group == "" {
		return "/api/" + version.Version
	}
	return "/apis/" + version.String()
}

// store stores an object with a new revision, and what the controllers of the cluster add to it.
func (s *Server) store(path string, object *unstructured.Unstructured) {
	s.revision++
	object.SetResourceVersion(strconv.Itoa(s.revision))
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + strconv.Itoa(s.revision)))
	}
	switch kind, _, _ := unstructured.NestedString(object.Object, "type"); {
	case object.GetKind() == "CustomResourceDefinition":
		object.Object["status"] = map[string]any{
			"conditions": []any{map[string]any{"type": "Established", "status": "True"}},
		}
	case object.GetKind() == "Secret" && kind == "kubernetes.io/service-account-token":
		object.Object["data"] = map[string]any{"token": "dG9rZW4="} // token
	}
	s.objects[path] = object
}

// reviewed returns the status of a review of an administrator, nil for another kind.
func reviewed(kind string) map[string]any {
	switch kind {
	case "SelfSubjectAccessReview":
		return map[string]any{"allowed": true}
	case "SelfSubjectReview":
		return map[string]any{"userInfo": map[string]any{"username": "administrator"}}
	}
	return nil
}
