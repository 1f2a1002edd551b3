// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
)

func loadChart(t *testing.T) *helmchart.Chart {
	t.Helper()
	files, err := chart("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var list []*loader.BufferedFile
	for name, content := range files {
		list = append(list, &loader.BufferedFile{Name: name, Data: content})
	}
	loaded, err := loader.LoadFiles(list)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render returns the objects of the chart, or why its values are refused.
func render(t *testing.T, namespace string, values map[string]any) ([]*unstructured.Unstructured, error) {
	t.Helper()
	loaded := loadChart(t)
	options := chartutil.ReleaseOptions{Name: "test", Namespace: namespace}
	all, err := chartutil.ToRenderValues(loaded, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(loaded, all)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, content := range rendered {
		text.WriteString("\n---\n" + content)
	}
	objects, err := parse(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return objects, nil
}

// The chart has the objects of "controller install", and keeps those that can contain objects of other owners.
func TestChartHasObjectsOfInstall(t *testing.T) {
	settings := install.Settings{
		HostedCluster: types.NamespacedName{Namespace: "sites", Name: "a.b"}, Image: "registry/x@sha256:1", Replicas: 3,
	}
	for name, test := range map[string]struct {
		in, place cluster.Place
		release   string
		left      []string // kinds of objects that the chart does not have
	}{
		"hosted":      {cluster.Hosted, cluster.Hosted, "default", nil},
		"permissions": {cluster.Management, cluster.Hosted, "hcp-node-admin", []string{"Namespace"}},
		"management":  {cluster.Management, cluster.Management, "sites-a", []string{"Namespace"}},
	} {
		for _, isPublishing := range []bool{false, true} {
			if isPublishing && name == "hosted" {
				continue // refused
			}
			got, err := render(t, test.release, map[string]any{
				"part": name, "image": settings.Image, "replicas": 3, "publish": isPublishing,
				"hostedCluster": map[string]any{"namespace": "sites", "name": "a.b"},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range got {
				keep := object.GetKind() == "Namespace" || object.GetKind() == "CustomResourceDefinition"
				annotations := object.GetAnnotations()
				if (annotations["helm.sh/resource-policy"] == "keep") != keep {
					t.Errorf("%s %s has the annotations %v", object.GetKind(), object.GetName(), annotations)
				}
				unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
			}
			settings.In, settings.Publish, settings.Namespace = test.in, isPublishing, test.release
			want, err := settings.Objects(test.place)
			if err != nil {
				t.Fatal(err)
			}
			want = slices.DeleteFunc(want, func(object *unstructured.Unstructured) bool {
				return slices.Contains(test.left, object.GetKind())
			})
			if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" || len(got) == 0 {
				t.Errorf("%s, publish %t (-install +chart):\n%s", name, isPublishing, diff)
			}
		}
	}
}

func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return objects
}

func nameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}

// The expressions in alerts and dashboards are not evaluated by Helm.
func TestChartHasMonitoring(t *testing.T) {
	for _, place := range []cluster.Place{cluster.Hosted, cluster.Management} {
		values := map[string]any{"part": string(place)}
		without, err := render(t, "sites-a", values)
		if err != nil {
			t.Fatal(err)
		}
		values["monitoring"] = true
		got, err := render(t, "sites-a", values)
		if err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(object *unstructured.Unstructured) bool {
			return slices.ContainsFunc(without, func(other *unstructured.Unstructured) bool {
				return nameOf(object) == nameOf(other)
			})
		})
		want, err := install.Settings{In: place, Namespace: "sites-a"}.MonitoringObjects()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			t.Errorf("%s (-deploy +chart):\n%s", place, diff)
		}
	}
}

func TestChartRefusesValues(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"unknown part":  {"part": "both"},
		"no replica":    {"replicas": 0},
		"unknown value": {"replica": 2},
		"no image":      {"image": ""},
		"publication in the hosted cluster itself": {"publish": true},
	} {
		if _, err := render(t, "default", values); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// parse returns the objects of a stream of YAML documents.
func parse(content []byte) (all []*unstructured.Unstructured, err error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
	for {
		var document json.RawMessage
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		if len(document) == 0 || string(document) == "null" {
			continue // the values exclude all objects of a template
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(document); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}
