// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	hcpnodeagent "github.com/hcp-node-agent/hcp-node-agent"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodepool"
)

// Settings are the settings of the manifests. Those that are not set remain as in the directory deploy.
type Settings struct {
	In            cluster.Place        // cluster in which the controller runs
	Namespace     string               // of the controller on the management cluster
	HostedCluster types.NamespacedName // on the management cluster
	Publish       bool                 // the controller on the management cluster publishes user data
	Image         string
	Replicas      int
}

// Manifests returns the manifests for one cluster, which are empty if the controller has no part there.
func (s Settings) Manifests(place cluster.Place) ([]byte, error) {
	switch {
	case s.In == cluster.Hosted && place == cluster.Hosted:
		return s.read("hosted")
	case s.In == cluster.Hosted:
		return nil, nil
	case place == cluster.Hosted && s.Publish:
		token, err := s.read("hosted-token")
		publish, publishErr := s.read("hosted-publish")
		return slices.Concat(token, []byte(separator), publish), cmp.Or(err, publishErr)
	case place == cluster.Hosted:
		return s.read("hosted-token")
	}
	directory := "management"
	if s.Publish {
		directory = "management-publish"
	}
	content, err := s.read(directory)
	names := map[string]string{}
	if s.Namespace != "" {
		names[v1alpha1.Namespace] = s.Namespace
	}
	if s.HostedCluster.Name != "" {
		names["clusters"] = s.HostedCluster.Namespace
		names["hosted"] = s.HostedCluster.Name
		names["clusters-hosted"] = nodepool.ControlPlaneNamespace(s.HostedCluster)
		names["hcp-node-admin-publisher-hosted"] = "hcp-node-admin-publisher-" + s.HostedCluster.Name
	}
	return nameLine.ReplaceAllFunc(content, func(line []byte) []byte {
		part := nameLine.FindSubmatch(line)
		return slices.Concat(part[1], []byte(cmp.Or(names[string(part[2])], string(part[2]))), part[3])
	}), err
}

// Lines of the manifests that settings change.
var (
	nameLine = regexp.MustCompile(
		`(?m)^(  (?:namespace|name): |  resourceNames: \[|.* --(?:hosted-cluster|nodepool-namespace)=)(\S+?)(\]?)$`)
	imageLine    = regexp.MustCompile(`(?m)^( +image: ).*$`)
	replicasLine = regexp.MustCompile(`(?m)^(  replicas: ).*$`)
)

func (s Settings) read(directory string) ([]byte, error) {
	content, err := concatenate("deploy/" + directory)
	if err != nil {
		return nil, fmt.Errorf("reading the manifests: %w", err)
	}
	if s.Image != "" {
		content = imageLine.ReplaceAll(content, []byte("${1}"+s.Image))
	}
	if s.Replicas > 0 {
		content = replicasLine.ReplaceAll(content, []byte("${1}"+strconv.Itoa(s.Replicas)))
	}
	return content, nil
}

const separator = "---\n"

// concatenate returns the files of a kustomization in its order, as a stream of YAML documents.
func concatenate(directory string) ([]byte, error) {
	var kustomization struct {
		Resources []string `json:"resources"`
		Patches   []struct {
			Path   string `json:"path"`
			Target struct {
				Kind string `json:"kind"`
			} `json:"target"`
		} `json:"patches"`
	}
	content, err := hcpnodeagent.Deploy.ReadFile(path.Join(directory, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	var all []byte
	for _, resource := range kustomization.Resources {
		name := path.Join(directory, resource)
		read := hcpnodeagent.Deploy.ReadFile
		if strings.HasPrefix(resource, "../") {
			read = concatenate
		}
		part, err := read(name)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && !bytes.HasPrefix(part, []byte(separator)) {
			all = append(all, separator...)
		}
		all = append(all, part...)
	}
	for _, patch := range kustomization.Patches {
		operations, err := hcpnodeagent.Deploy.ReadFile(path.Join(directory, patch.Path))
		if err == nil {
			all, err = applyPatch(all, patch.Target.Kind, operations)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(directory, patch.Path), err)
		}
	}
	return all, nil
}

// applyPatch applies the operations of a JSON patch to the documents of a kind, which lose their comments.
func applyPatch(manifests []byte, kind string, operations []byte) ([]byte, error) {
	operations, err := yaml.YAMLToJSON(operations)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	documents := strings.Split(string(manifests), "\n"+separator)
	for i, document := range documents {
		if !strings.Contains("\n"+document, "\nkind: "+kind+"\n") {
			continue
		}
		content, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			content, err = patch.Apply(content)
		}
		if err == nil {
			content, err = yaml.JSONToYAML(content)
		}
		if err != nil {
			return nil, err
		}
		documents[i] = strings.TrimSuffix(string(content), "\n")
	}
	return []byte(strings.Join(documents, "\n"+separator)), nil
}

// objects returns the objects for one cluster, in the order in which they are applied.
func (s Settings) objects(place cluster.Place) ([]*unstructured.Unstructured, error) {
	content, err := s.Manifests(place)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+string(content), "\n"+separator) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all, nil
}
