// SPDX-License-Identifier: Apache-2.0

package compatibility

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// apiFile contains the fields of the API of a release, a line for each.
const apiFile = "api.txt"

// A field of the API that was released remains, with the same type and rules. A change is seen here first; the fields
// of the release that is being prepared are written with -update.
func TestFormatOfTheAPI(t *testing.T) {
	fields := apiFields(t)
	if IsUpdate() {
		content := strings.Join(fields, "\n") + "\n"
		flowtest.NoError(t, os.WriteFile(filepath.Join(Next(t), apiFile), []byte(content), 0o600))
	}
	releases := Releases(t)
	for i, release := range releases {
		content, err := os.ReadFile(filepath.Join(release, apiFile))
		flowtest.NoError(t, err)
		released := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
		if i < len(releases)-1 {
			released = slices.DeleteFunc(released, func(field string) bool { return slices.Contains(fields, field) })
			if len(released) > 0 {
				t.Errorf("%s: fields of the API that were changed or removed:\n%s", release, strings.Join(released, "\n"))
			}
		} else if diff := cmp.Diff(released, fields); diff != "" {
			t.Errorf("the API (-%s +now), which make formats writes for a release that is being prepared:\n%s",
				filepath.Base(release), diff)
		}
	}
}

// apiFields returns the fields of the CustomResourceDefinitions, with their types and rules.
func apiFields(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Root(t), "deploy/hosted-base/crd.yaml"))
	flowtest.NoError(t, err)
	var fields []string
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var definition struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		err := decoder.Decode(&definition)
		if errors.Is(err, io.EOF) {
			slices.Sort(fields)
			return fields
		}
		flowtest.NoError(t, err)
		for _, version := range definition.Spec.Versions {
			root := version.Name + " " + definition.Spec.Names.Kind
			fields = append(fields, schemaFields(root, version.Schema.OpenAPIV3Schema)...)
		}
	}
}

// schemaFields returns a line for a field and for each one below it.
func schemaFields(path string, schema map[string]any) []string {
	var rules, fields []string
	for key, value := range schema {
		switch key {
		case "description":
		case "properties":
			properties, _ := value.(map[string]any)
			for name, property := range properties {
				below, _ := property.(map[string]any)
				fields = append(fields, schemaFields(path+"."+name, below)...)
			}
		case "items", "additionalProperties":
			below, _ := value.(map[string]any)
			fields = append(fields, schemaFields(path+"[]", below)...)
		default:
			rules = append(rules, fmt.Sprintf("%s=%v", key, value))
		}
	}
	slices.Sort(rules)
	return append(fields, path+": "+strings.Join(rules, " "))
}
