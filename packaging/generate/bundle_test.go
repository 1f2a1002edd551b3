// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
)

// The types of the Operator Framework have all fields of the bundle, and its installation is that of "controller
// install". The validators of its library do not compile with current versions of Kubernetes.
func TestBundle(t *testing.T) {
	files, err := bundle("1.2.3", "registry/x@sha256:1")
	if err != nil {
		t.Fatal(err)
	}
	var csv v1alpha1.ClusterServiceVersion
	definitions := map[string]string{}
	for name, content := range files {
		switch {
		case strings.HasSuffix(name, ".clusterserviceversion.yaml"):
			if err := yaml.UnmarshalStrict(content, &csv); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(name, "manifests/"):
			var definition apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(content, &definition); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			definitions[definition.Name] = definition.Spec.Names.Kind
		}
	}
	if csv.Name != "hcp-node-admin.v1.2.3" || csv.Spec.Version.String() != "1.2.3" || len(files) != len(definitions)+3 {
		t.Errorf("%s, version %s, with %d files", csv.Name, csv.Spec.Version, len(files))
	}
	owned := map[string]string{}
	for _, one := range csv.Spec.CustomResourceDefinitions.Owned {
		owned[one.Name] = one.Kind
	}
	if diff := cmp.Diff(definitions, owned); diff != "" || len(owned) == 0 {
		t.Errorf("(-files +owned):\n%s", diff)
	}
	checkInstallation(t, csv.Spec.InstallStrategy.StrategySpec)
}

func checkInstallation(t *testing.T, got v1alpha1.StrategyDetailsDeployment) {
	t.Helper()
	objects, err := install.Settings{In: cluster.Hosted, Image: "registry/x@sha256:1"}.Objects(cluster.Hosted)
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, permission := range append(got.Permissions, got.ClusterPermissions...) {
		if permission.ServiceAccountName != "hcp-node-admin-controller" {
			t.Errorf("permissions of %s", permission.ServiceAccountName)
		}
		rules = append(rules, permission.Rules...)
	}
	count := 0
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			var want appsv1.Deployment
			convert(t, object.Object, &want)
			if diff := cmp.Diff(want.Spec, got.DeploymentSpecs[0].Spec); diff != "" || got.DeploymentSpecs[0].Name != want.Name {
				t.Errorf("Deployment %s (-install +bundle):\n%s", got.DeploymentSpecs[0].Name, diff)
			}
		case "Role", "ClusterRole":
			var role rbacv1.ClusterRole
			convert(t, object.Object, &role)
			for _, want := range role.Rules {
				count++
				if !slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return reflect.DeepEqual(rule, want) }) {
					t.Errorf("no permission %v", want)
				}
			}
		}
	}
	if count != len(rules) {
		t.Errorf("%d rules, want %d", len(rules), count)
	}
}

func convert(t *testing.T, from map[string]any, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, into); err != nil {
		t.Fatal(err)
	}
}
