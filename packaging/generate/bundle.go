// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

type fields = map[string]any

const (
	packageName = "hcp-node-admin"
	summary     = "Approves the CSRs of RHEL nodes on hosted control planes, and upgrades the nodes"
	homepage    = "https://github.com/hcp-node-agent/hcp-node-agent"
)

var (
	//go:embed bundle/description.md
	bundleDescription string
	//go:embed bundle/icon.svg
	bundleIcon []byte
)

// bundleLabels are in the metadata of the bundle and in its image.
var bundleLabels = []struct{ key, value string }{
	{"operators.operatorframework.io.bundle.mediatype.v1", "registry+v1"},
	{"operators.operatorframework.io.bundle.manifests.v1", "manifests/"},
	{"operators.operatorframework.io.bundle.metadata.v1", "metadata/"},
	{"operators.operatorframework.io.bundle.package.v1", packageName},
	{"operators.operatorframework.io.bundle.channels.v1", "preview"},
	{"operators.operatorframework.io.bundle.channel.default.v1", "preview"},
}

// bundle returns the files of the OLM bundle: the controller in the hosted cluster.
func bundle(version, image string) (map[string][]byte, error) {
	objects, err := install.Settings{In: cluster.Hosted, Image: image}.Objects(cluster.Hosted)
	if err != nil {
		return nil, err
	}
	csv, err := clusterServiceVersion(version, image, objects)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	encode := func(name string, value any) (err error) {
		files[name], err = yaml.Marshal(value)
		return err
	}
	if err := encode("manifests/"+packageName+".clusterserviceversion.yaml", csv); err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			if err := encode("manifests/"+object.GetName()+".yaml", object.Object); err != nil {
				return nil, err
			}
		}
	}
	annotations, containerfile := fields{}, "FROM scratch\n"
	for _, label := range bundleLabels {
		annotations[label.key] = label.value
		containerfile += fmt.Sprintf("LABEL %s=%s\n", label.key, label.value)
	}
	files["Containerfile"] = []byte(containerfile + "COPY manifests /manifests/\nCOPY metadata /metadata/\n")
	return files, encode("metadata/annotations.yaml", fields{"annotations": annotations})
}

func clusterServiceVersion(version, image string, objects []*unstructured.Unstructured) (fields, error) {
	byKind := map[string][]*unstructured.Unstructured{}
	for _, object := range objects {
		byKind[object.GetKind()] = append(byKind[object.GetKind()], object)
	}
	namespace, deployment := byKind["Namespace"][0], byKind["Deployment"][0]
	template, err := json.Marshal(namespace.Object)
	if err != nil {
		return nil, err
	}
	examples, err := json.Marshal([]any{fields{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "NodeRollout", "metadata": fields{"name": "workers"},
		"spec": fields{"maxUnavailable": "10%"},
	}})
	if err != nil {
		return nil, err
	}
	return fields{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       "ClusterServiceVersion",
		"metadata": fields{
			"name":      packageName + ".v" + version,
			"namespace": v1alpha1.Namespace,
			"annotations": fields{
				"alm-examples": string(examples), "capabilities": "Seamless Upgrades", "categories": "OpenShift Optional",
				"containerImage": image, "repository": homepage, "support": "hcp-node-agent",
				"description": summary,
				"operatorframework.io/suggested-namespace":          v1alpha1.Namespace,
				"operatorframework.io/suggested-namespace-template": string(template),
			},
		},
		"spec": fields{
			"displayName": packageName, "description": bundleDescription, "version": version, "maturity": "alpha",
			"minKubeVersion": "1.29.0", "provider": fields{"name": "hcp-node-agent", "url": homepage},
			"links":    []any{fields{"name": "Documentation", "url": homepage}},
			"keywords": []any{"openshift", "hypershift", "node"},
			"icon": []any{fields{
				"base64data": base64.StdEncoding.EncodeToString(bundleIcon), "mediatype": "image/svg+xml",
			}},
			// The controller works in this namespace only. The objects that it reads have none.
			"installModes": []any{
				fields{"type": "OwnNamespace", "supported": true},
				fields{"type": "SingleNamespace", "supported": false},
				fields{"type": "MultiNamespace", "supported": false},
				fields{"type": "AllNamespaces", "supported": false},
			},
			"customresourcedefinitions": fields{"owned": owned(byKind["CustomResourceDefinition"])},
			"install": fields{"strategy": "deployment", "spec": fields{
				"deployments": []any{fields{
					"name": deployment.GetName(), "label": deployment.GetLabels(), "spec": deployment.Object["spec"],
				}},
				"permissions":        permissions(byKind["Role"], v1alpha1.Namespace),
				"clusterPermissions": permissions(append(byKind["ClusterRole"], byKind["Role"]...), ""),
			}},
		},
	}, nil
}

// owned describes the CustomResourceDefinitions of the bundle.
func owned(definitions []*unstructured.Unstructured) (all []any) {
	for _, definition := range definitions {
		kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, version := range versions {
			version := version.(fields)
			description, _, _ := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
			all = append(all, fields{
				"name": definition.GetName(), "kind": kind, "displayName": kind, "version": version["name"],
				"description": description,
			})
		}
	}
	return all
}

// permissions returns the rules of the controller's service account: those of the Roles in its namespace, or, for the
// namespace "", all others. OLM has no permissions for other namespaces, so that these are for the cluster.
func permissions(roles []*unstructured.Unstructured, namespace string) []any {
	var rules []any
	for _, role := range roles {
		if (role.GetNamespace() == v1alpha1.Namespace) == (namespace != "") {
			more, _, _ := unstructured.NestedSlice(role.Object, "rules")
			rules = append(rules, more...)
		}
	}
	return []any{fields{"serviceAccountName": "hcp-node-admin-controller", "rules": rules}}
}
