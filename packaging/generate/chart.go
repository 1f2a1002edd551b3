// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Placeholders for the values of the chart. They are valid in the manifests.
var (
	hostedCluster = types.NamespacedName{Namespace: "placeholder-namespace", Name: "placeholder-name"}
	placeholders  = install.Settings{
		Image: "placeholder-image", Replicas: 987654321, Namespace: "placeholder-release", HostedCluster: hostedCluster,
	}
	expressions = strings.NewReplacer(
		"{{", "{{`{{`}}", // in an alert or a dashboard; without double quotes, which YAML would escape
		nodepool.ControlPlaneNamespace(hostedCluster),
		"{{ .Values.hostedCluster.namespace }}-{{ .Values.hostedCluster.name | replace `.` `-` }}",
		hostedCluster.Namespace, "{{ .Values.hostedCluster.namespace }}",
		hostedCluster.Name, "{{ .Values.hostedCluster.name }}",
		placeholders.Image, "{{ .Values.image }}",
		placeholders.Namespace, "{{ .Release.Namespace }}",
	)
)

var (
	//go:embed chart/values.yaml
	chartValues []byte
	//go:embed chart/values.schema.json
	chartSchema []byte
)

// chart returns the files of the Helm chart.
func chart(version string) (map[string][]byte, error) {
	metadata, err := yaml.Marshal(map[string]any{
		"apiVersion": "v2", "name": "hcp-node-admin", "version": version, "appVersion": version, "type": "application",
		"description": summary,
		"home":        homepage, "kubeVersion": ">=1.29.0-0",
	})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"Chart.yaml": metadata, "values.yaml": []byte(strings.ReplaceAll(string(chartValues), "VERSION", version)),
		"values.schema.json": chartSchema,
	}
	for name, part := range map[string]struct{ in, place cluster.Place }{
		"hosted":      {cluster.Hosted, cluster.Hosted},
		"permissions": {cluster.Management, cluster.Hosted},
		"management":  {cluster.Management, cluster.Management},
	} {
		body, err := partTemplate(part.in, part.place)
		if err != nil {
			return nil, err
		}
		files["templates/"+name+".yaml"] = []byte(when(`eq .Values.part "`+name+`"`, body))
	}
	settings := placeholders
	settings.In = cluster.Management
	objects, err := settings.MonitoringObjects()
	if err != nil {
		return nil, err
	}
	var body strings.Builder
	for _, object := range objects {
		template, err := templateOf(object)
		if err != nil {
			return nil, err
		}
		body.WriteString(template)
	}
	// The controller in the hosted cluster is always in the same namespace.
	monitoring := strings.ReplaceAll(body.String(), "'{{ .Release.Namespace }}'", controllerNamespace)
	files["templates/monitoring.yaml"] = []byte(when(`and .Values.monitoring (ne .Values.part "permissions")`, monitoring))
	return files, nil
}

const controllerNamespace = `{{ eq .Values.part "hosted" | ternary "` + v1alpha1.Namespace +
	`" .Release.Namespace | quote }}`

// partTemplate returns the template of the objects for one cluster. Those that differ with the value publish are
// conditional.
func partTemplate(in, place cluster.Place) (string, error) {
	plain, err := templates(in, place, false)
	if err != nil {
		return "", err
	}
	publishing, err := templates(in, place, true)
	if err != nil {
		return "", err
	}
	var body strings.Builder
	for _, one := range plain {
		if !slices.Contains(publishing, one) {
			one = when("not .Values.publish", one)
		}
		body.WriteString(one)
	}
	for _, one := range publishing {
		if !slices.Contains(plain, one) {
			body.WriteString(when(".Values.publish", one))
		}
	}
	return body.String(), nil
}

func templates(in, place cluster.Place, isPublishing bool) ([]string, error) {
	settings := placeholders
	settings.In, settings.Publish = in, isPublishing
	objects, err := settings.Objects(place)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, object := range objects {
		template, err := templateOf(object)
		if err != nil {
			return nil, err
		}
		if object.GetKind() == "Namespace" { // Helm does not adopt that of the release, with whatever created it
			template = when(`ne .Release.Namespace "`+expressions.Replace(object.GetName())+`"`, template)
			if place == cluster.Management {
				continue
			}
		}
		all = append(all, template)
	}
	return all, nil
}

// templateOf returns the template of an object. Helm keeps those that can contain objects of other owners, as
// "controller uninstall" does.
func templateOf(object *unstructured.Unstructured) (string, error) {
	if kind := object.GetKind(); kind == "Namespace" || kind == "CustomResourceDefinition" {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["helm.sh/resource-policy"] = "keep"
		object.SetAnnotations(annotations)
	}
	content, err := yaml.Marshal(insertExpressions(object.Object))
	return "---\n" + strings.ReplaceAll(string(content), "987654321", "{{ .Values.replicas }}"), err
}

// insertExpressions returns a value in which expressions replace the placeholders.
func insertExpressions(value any) any {
	switch value := value.(type) {
	case string:
		return expressions.Replace(value)
	case map[string]any:
		for key := range value {
			value[key] = insertExpressions(value[key])
		}
	case []any:
		for i := range value {
			value[i] = insertExpressions(value[i])
		}
	}
	return value
}

func when(condition, body string) string {
	return "{{- if " + condition + " }}\n" + body + "{{- end }}\n"
}
