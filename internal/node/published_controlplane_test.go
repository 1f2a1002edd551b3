// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package node

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A node with the permission of deploy/hosted-renewals gets the pull secret, the additional CAs and the URLs of the API
// server of the cluster with kubelet's credential, and nothing else. Without the permission, the cluster does not offer
// them.
func TestControlPlanePublished(t *testing.T) {
	node, _ := joinedNode(t, "renewing")
	admin := kubetest.AdminClient(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: configNamespace}}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pullSecretName, "other"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
		}
		secrets := admin.CoreV1().Secrets(configNamespace)
		if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{trustBundleName, "other"} {
		bundle := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"ca-bundle.crt": "a CA"},
		}
		configMaps := admin.CoreV1().ConfigMaps(configNamespace)
		if _, err := configMaps.Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if servers, err := node.PublishedAPIServers(t.Context()); err != nil || servers.Version != "" {
		t.Errorf("without the permission: %+v, %v", servers, err)
	}
	published, err := node.PublishedPullSecret(t.Context())
	bundle, bundleErr := node.PublishedTrustBundle(t.Context())
	if err != nil || published.Version != "" || bundleErr != nil || bundle.Version != "" {
		t.Errorf("without the permission: %+v, %v, %+v, %v", published, err, bundle, bundleErr)
	}
	if err := rights.Grant(t.Context(), admin, "hosted-renewals/rbac.yaml"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "waiting for the permission", func() (any, bool) {
		published, err = node.PublishedPullSecret(t.Context())
		return err, err == nil && published.Version != ""
	})
	bundle, err = node.PublishedTrustBundle(t.Context())
	if err != nil || string(published.Content) != `{"auths":{}}` || string(bundle.Content) != "a CA" ||
		bundle.Version == "" {
		t.Errorf("%+v, %+v, %v", published, bundle, err)
	}
	createInfrastructure(t, "cluster", "other")
	servers, err := node.PublishedAPIServers(t.Context())
	if err != nil || servers.Internal != "https://api.hc.hypershift.local:6443" ||
		servers.External != "https://api.example.com:6443" || servers.Version == "" {
		t.Errorf("%+v, %v", servers, err)
	}
	secrets := node.Conn.Client.Secrets(configNamespace)
	if _, err := secrets.Get(t.Context(), "other"); err == nil {
		t.Error("another Secret was read")
	}
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "list", Resource: "secrets"},
		{Verb: "watch", Resource: "secrets", Name: pullSecretName},
		{Verb: "update", Resource: "secrets", Name: pullSecretName},
		{Verb: "patch", Resource: "secrets", Name: pullSecretName},
		{Verb: "delete", Resource: "secrets", Name: pullSecretName},
		{Verb: "create", Resource: "secrets"},
		{Verb: "get", Resource: "secrets", Name: "other"},
		{Verb: "get", Resource: "configmaps", Name: "other"},
		{Verb: "list", Resource: "configmaps"},
		{Verb: "update", Resource: "configmaps", Name: trustBundleName},
		{Verb: "get", Resource: "serviceaccounts", Name: "default"},
	} {
		no.Namespace = configNamespace
		if allowed, err := node.Conn.Client.Allowed(t.Context(), no); err != nil || allowed {
			t.Errorf("it may %s %s %s, %v", no.Verb, no.Resource, no.Name, err)
		}
	}
	for _, no := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "infrastructures", Name: "other"},
		{Verb: "list", Resource: "infrastructures"},
		{Verb: "watch", Resource: "infrastructures", Name: "cluster"},
		{Verb: "update", Resource: "infrastructures", Name: "cluster"},
		{Verb: "patch", Resource: "infrastructures", Name: "cluster", Subresource: "status"},
		{Verb: "get", Resource: "proxies", Name: "cluster"},
	} {
		no.Group = "config.openshift.io"
		if allowed, err := node.Conn.Client.Allowed(t.Context(), no); err != nil || allowed {
			t.Errorf("it may %s %s %s, %v", no.Verb, no.Resource, no.Name, err)
		}
	}
	kubetest.CreateNode(t, node.Conn, node.Name)
	if synced, err := node.HasPullSecretSyncer(t.Context()); err != nil || synced {
		t.Errorf("without the label: %t, %v", synced, err)
	}
	label := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, syncerLabel) // controllers change the Node, too
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), node.Name, types.MergePatchType, label,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if synced, err := node.HasPullSecretSyncer(t.Context()); err != nil || !synced {
		t.Errorf("with the label: %t, %v", synced, err)
	}
}

// createInfrastructure creates objects of OpenShift's kind Infrastructure.
func createInfrastructure(t *testing.T, names ...string) {
	t.Helper()
	admin := kubetest.AdminClient(t).Discovery().RESTClient()
	const group = "config.openshift.io"
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"infrastructures.` + group + `","annotations":{
			"api-approved.kubernetes.io":"https://github.com/openshift/api/pull/470"}},
		"spec":{"group":"` + group + `","scope":"Cluster",
			"names":{"plural":"infrastructures","singular":"infrastructure","kind":"Infrastructure"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
				"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	post := func(path, body string) error {
		return admin.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).
			Do(t.Context()).Error()
	}
	if err := post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		object := `{"apiVersion":"` + group + `/v1","kind":"Infrastructure","metadata":{"name":"` + name + `"},"status":{
			"apiServerURL":"https://api.example.com:6443","apiServerInternalURL":"https://api.hc.hypershift.local:6443"}}`
		waittest.Until(t, "waiting for the kind", func() (any, bool) {
			err := post("/apis/"+group+"/v1/infrastructures", object)
			return err, err == nil
		})
	}
}
