// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/install"
)

// checkout is the root of the repository.
const checkout = "../.."

// objectsOf returns the objects that "controller install" applies to a cluster.
func objectsOf(settings install.Settings, place cluster.Place) ([]*unstructured.Unstructured, error) {
	content, err := settings.Manifests(place)
	if err != nil {
		return nil, err
	}
	return parse(content)
}

// parse returns the objects of a stream of YAML documents.
func parse(content []byte) (all []*unstructured.Unstructured, err error) {
	for document := range strings.SplitSeq("\n"+string(content), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all, nil
}

// monitoringObjects returns the objects of deploy/monitoring/controller.
func monitoringObjects() ([]*unstructured.Unstructured, error) {
	directory := filepath.Join(checkout, "deploy/monitoring/controller")
	var kustomization struct {
		Resources          []string
		ConfigMapGenerator []struct {
			Name, Namespace string
			Files           []string
			Options         struct{ Labels map[string]string }
		}
	}
	content, err := os.ReadFile(filepath.Join(directory, "kustomization.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &kustomization)
	}
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, name := range kustomization.Resources {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			return nil, err
		}
		objects, err := parse(content)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, generator := range kustomization.ConfigMapGenerator {
		data := map[string]any{}
		for _, name := range generator.Files {
			content, err := os.ReadFile(filepath.Join(directory, name))
			if err != nil {
				return nil, err
			}
			data[name] = string(content)
		}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		}}
		object.SetName(generator.Name)
		object.SetNamespace(generator.Namespace)
		object.SetLabels(generator.Options.Labels)
		all = append(all, object)
	}
	return all, nil
}
