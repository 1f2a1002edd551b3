// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	hcpnodeagent "github.com/hcp-node-agent/hcp-node-agent"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Place is one of the two clusters.
type Place string

// The clusters.
const (
	Hosted     Place = "hosted"
	Management Place = "management"
)

// Enum returns all clusters.
func (Place) Enum() []string { return schema.Strings(Management, Hosted) }

// Settings are the settings of the manifests. Those that are not set remain as in the directory deploy.
type Settings struct {
	In        Place  // cluster in which the controller runs
	Namespace string // of the controller on the management cluster
	Image     string
	Replicas  int
}

// Manifests returns the manifests for one cluster, which are empty if the controller has no part there.
func (s Settings) Manifests(cluster Place) ([]byte, error) {
	switch {
	case s.In == Hosted && cluster == Hosted:
		return s.read("hosted")
	case s.In == Hosted:
		return nil, nil
	case cluster == Hosted:
		return s.read("hosted-token")
	}
	content, err := s.read("management")
	if s.Namespace != "" {
		content = namespaceLine.ReplaceAll(content, []byte("${1}"+s.Namespace))
	}
	return content, err
}

// Lines of the manifests that settings change.
var (
	namespaceLine = regexp.MustCompile(`(?m)^(  (?:namespace|name): )` + v1alpha1.Namespace + `$`)
	imageLine     = regexp.MustCompile(`(?m)^( +image: ).*$`)
	replicasLine  = regexp.MustCompile(`(?m)^(  replicas: ).*$`)
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
	return all, nil
}

// objects returns the objects for one cluster, in the order in which they are applied.
func (s Settings) objects(cluster Place) ([]*unstructured.Unstructured, error) {
	content, err := s.Manifests(cluster)
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
