// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"maps"
	"os"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// Helm installs each part of the chart, upgrades and removes it. What remains is permanent.
func TestControlPlaneChart(t *testing.T) {
	values := map[string]any{
		"image":         "registry.example.com/x@sha256:1",
		"hostedCluster": map[string]any{"namespace": "default", "name": "kube"}, // Roles need their namespaces
	}
	api, configuration := connect(t)
	for _, test := range []struct{ part, namespace string }{
		{"hosted", "default"}, {"permissions", "default"}, {"management", "hcp-node-admin"},
	} {
		t.Run(test.part, func(t *testing.T) {
			values := maps.Clone(values)
			values["part"], values["publish"] = test.part, test.part != "hosted"
			if test.part == "management" {
				createNamespace(t, api, test.namespace)
				createNamespace(t, api, "default-kube")
			}
			install := action.NewInstall(configuration(t, test.namespace))
			install.ReleaseName, install.Namespace = packageName, test.namespace
			release, err := install.RunWithContext(t.Context(), loadChart(t), values)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := parse([]byte(release.Manifest))
			if err != nil || len(objects) == 0 {
				t.Fatalf("%d objects: %v", len(objects), err)
			}
			for _, object := range objects {
				if !exists(t, api, object) {
					t.Errorf("%s does not exist", nameOf(object))
				}
			}
			values["replicas"] = 3
			upgrade := action.NewUpgrade(configuration(t, test.namespace))
			upgrade.Namespace = test.namespace
			if _, err := upgrade.RunWithContext(t.Context(), packageName, loadChart(t), values); err != nil {
				t.Error(err)
			}
			if _, err := action.NewUninstall(configuration(t, test.namespace)).Run(packageName); err != nil {
				t.Error(err)
			}
			for _, object := range objects {
				isPermanent := object.GetAnnotations()["helm.sh/resource-policy"] == "keep"
				if exists(t, api, object) != isPermanent {
					t.Errorf("%s: permanent %t", nameOf(object), isPermanent)
				}
			}
		})
	}
}

// connect returns a client, and a function that returns the configuration of Helm for a namespace.
func connect(t *testing.T) (client.Client, func(*testing.T, string) *action.Configuration) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubetest.Plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api, func(t *testing.T, namespace string) *action.Configuration {
		t.Helper()
		flags := genericclioptions.NewConfigFlags(false)
		flags.KubeConfig, flags.Namespace = &kubetest.Plane.Kubeconfig, &namespace
		configuration := &action.Configuration{}
		if err := configuration.Init(flags, namespace, "secret", t.Logf); err != nil {
			t.Fatal(err)
		}
		return configuration
	}
}

// exists reports whether an object exists and is not being deleted.
func exists(t *testing.T, api client.Client, object *unstructured.Unstructured) bool {
	t.Helper()
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(object.GroupVersionKind())
	err := api.Get(t.Context(), client.ObjectKeyFromObject(object), existing)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil && existing.GetDeletionTimestamp() == nil
}

func createNamespace(t *testing.T, api client.Client, name string) {
	t.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(name)
	if err := api.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
