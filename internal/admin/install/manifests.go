// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// SelectManifests returns the manifests for the cluster of --cluster, "" for the only one that has any.
func (s Settings) SelectManifests(place cluster.Place) ([]byte, error) {
	switch {
	case s.Publish && s.HostedCluster.Name != "" && s.HostedCluster.Namespace == "":
		return nil, report.UsageError("--publish and --output yaml require --namespace, that of the HostedCluster")
	case place == "" && s.In == cluster.Management:
		return nil, report.UsageError("there are manifests for two clusters: select one with --cluster management or hosted")
	case place != "" && place != cluster.Hosted && place != s.In:
		return nil, report.UsageError("--cluster %s: must be hosted, or management with --in management", place)
	}
	return s.manifests(cmp.Or(place, cluster.Hosted))
}

// manifests returns the objects for one cluster as YAML documents, which are empty if the controller has no part there.
func (s Settings) manifests(place cluster.Place) ([]byte, error) {
	objects, err := s.Objects(place)
	if err == nil && place == cluster.Hosted {
		var renewals []*unstructured.Unstructured
		renewals, err = s.renewalObjects()
		objects = append(objects, renewals...)
	}
	var content bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		content.WriteString("---\n")
		content.Write(document)
	}
	return content.Bytes(), err
}

// Objects returns the objects for one cluster, in the order in which they are applied.
func (s Settings) Objects(place cluster.Place) ([]*unstructured.Unstructured, error) {
	return s.read(place, s.directories(place)...)
}

// MonitoringObjects returns the objects with which Prometheus scrapes the controller.
func (s Settings) MonitoringObjects() ([]*unstructured.Unstructured, error) {
	return s.read(s.In, monitoringDirectory)
}

const monitoringDirectory = "monitoring/controller"

// read returns the objects of directories below deploy, with the settings for one cluster.
func (s Settings) read(place cluster.Place, directories ...string) ([]*unstructured.Unstructured, error) {
	names := map[string]string{}
	if place == cluster.Management {
		names = s.names()
	}
	var all []*unstructured.Unstructured
	for _, directory := range directories {
		objects, err := readKustomization("deploy/" + directory)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		rename(object.Object, names)
		if object.GetKind() == "Deployment" {
			if err := s.setDeployment(object, names); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// directories returns the kustomizations below deploy for one cluster.
func (s Settings) directories(place cluster.Place) []string {
	var all []string
	switch {
	case s.In == cluster.Hosted && place == cluster.Hosted:
		all = append(all, "hosted")
	case s.In == cluster.Hosted:
	case place == cluster.Hosted && s.Publish:
		all = append(all, "hosted-token", "hosted-publish")
	case place == cluster.Hosted:
		all = append(all, "hosted-token")
	case s.Publish:
		all = append(all, "management-publish")
	default:
		all = append(all, "management")
	}
	if s.Monitoring && s.In == place {
		all = append(all, monitoringDirectory)
	}
	return all
}

// names returns the names that replace those of the manifests for the management cluster.
func (s Settings) names() map[string]string {
	names := map[string]string{v1alpha1.Namespace: cmp.Or(s.Namespace, v1alpha1.Namespace)}
	if s.HostedCluster.Name != "" {
		names["clusters"] = s.HostedCluster.Namespace
		names["hosted"] = s.HostedCluster.Name
		names["clusters-hosted"] = nodepool.ControlPlaneNamespace(s.HostedCluster)
		names["hcp-node-admin-publisher-hosted"] = "hcp-node-admin-publisher-" + s.HostedCluster.Name
	}
	return names
}

// rename replaces names in the fields of an object that refer to objects.
func rename(fields map[string]any, names map[string]string) {
	for key, value := range fields {
		switch value := value.(type) {
		case string:
			if key == "name" || key == "namespace" {
				fields[key] = cmp.Or(names[value], value)
			}
		case map[string]any:
			rename(value, names)
		case []any:
			for i := range value {
				if element, ok := value[i].(map[string]any); ok {
					rename(element, names)
				} else if name, ok := value[i].(string); ok && key == "resourceNames" {
					value[i] = cmp.Or(names[name], name)
				}
			}
		}
	}
}

// setDeployment sets the settings of the Deployment.
func (s Settings) setDeployment(object *unstructured.Unstructured, names map[string]string) error {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil {
		return err
	}
	container := containers[0].(map[string]any)
	if s.Image != "" {
		container["image"] = s.Image
	}
	args := container["args"].([]any)
	for i := range args {
		flag, value, _ := strings.Cut(args[i].(string), "=")
		if slices.Contains([]string{"--hosted-cluster", "--nodepool-namespace"}, flag) {
			args[i] = flag + "=" + cmp.Or(names[value], value)
		}
	}
	if s.Replicas > 0 {
		if err := unstructured.SetNestedField(object.Object, int64(s.Replicas), "spec", "replicas"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, containers, path...)
}
