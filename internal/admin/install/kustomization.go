// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	hcpnodeagent "github.com/hcp-node-agent/hcp-node-agent"
)

// kustomization has the fields that differ between the kustomizations of the directory deploy.
type kustomization struct {
	Resources []string
	Patches   []struct {
		Path   string
		Target struct{ Kind string }
	}
	ConfigMapGenerator []configMapGenerator
}

// configMapGenerator makes a ConfigMap with the content of files.
type configMapGenerator struct {
	Name, Namespace string
	Files           []string
	Options         struct{ Labels map[string]string }
}

// readKustomization returns the objects of a kustomization, in its order. The library of kustomize would make the
// program a quarter larger.
func readKustomization(directory string) ([]*unstructured.Unstructured, error) {
	content, err := hcpnodeagent.Deploy.ReadFile(path.Join(directory, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var k kustomization
	if err := yaml.Unmarshal(content, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	all, err := k.objects(directory)
	if err == nil {
		err = k.patch(directory, all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	return all, nil
}

func (k kustomization) objects(directory string) (all []*unstructured.Unstructured, err error) {
	for _, resource := range k.Resources {
		read := readObjects
		if strings.HasPrefix(resource, "../") {
			read = readKustomization
		}
		objects, err := read(path.Join(directory, resource))
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, generator := range k.ConfigMapGenerator {
		object, err := generator.object(directory)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// readObjects returns the objects of a file.
func readObjects(name string) (all []*unstructured.Unstructured, err error) {
	content, err := hcpnodeagent.Deploy.ReadFile(name)
	if err != nil {
		return nil, err
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, object)
	}
}

func (g configMapGenerator) object(directory string) (*unstructured.Unstructured, error) {
	data := map[string]any{}
	for _, name := range g.Files {
		content, err := hcpnodeagent.Deploy.ReadFile(path.Join(directory, name))
		if err != nil {
			return nil, err
		}
		data[name] = string(content)
	}
	object := newObject("v1", "ConfigMap", g.Namespace, g.Name)
	object.SetLabels(g.Options.Labels)
	object.Object["data"] = data
	return object, nil
}

// patch applies the JSON patches of a kustomization.
func (k kustomization) patch(directory string, objects []*unstructured.Unstructured) error {
	for _, one := range k.Patches {
		content, err := hcpnodeagent.Deploy.ReadFile(path.Join(directory, one.Path))
		if err == nil {
			content, err = yaml.YAMLToJSON(content)
		}
		if err != nil {
			return err
		}
		operations, err := jsonpatch.DecodePatch(content)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if object.GetKind() != one.Target.Kind {
				continue
			}
			content, err := object.MarshalJSON()
			if err == nil {
				content, err = operations.Apply(content)
			}
			if err == nil {
				err = object.UnmarshalJSON(content)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
