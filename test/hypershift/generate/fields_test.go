// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openshift/hypershift/api/hypershift/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
)

func TestDefinitionsAreGenerated(t *testing.T) {
	want, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(definitionsFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what make generate writes: %v", definitionsFile, err)
	}
}

// The types with which the programs read objects have the fields of HyperShift's types, and their kinds.
func TestReadFieldsExist(t *testing.T) {
	for resource, types := range map[string][2]any{
		"hostedclusters": {nodepool.HostedCluster{}, v1beta1.HostedCluster{}},
		"nodepools":      {nodepool.NodePool{}, v1beta1.NodePool{}},
	} {
		compareFields(t, resource, "", reflect.TypeOf(types[0]), reflect.TypeOf(types[1]))
	}
}

func compareFields(t *testing.T, resource, path string, read, upstream reflect.Type) {
	t.Helper()
	read, upstream = elementOf(read), elementOf(upstream)
	if read == upstream {
		return
	}
	if kindOf(read) != kindOf(upstream) {
		t.Errorf("%s: %s is read as %s, but HyperShift has %s", resource, path, read, upstream)
	}
	if read.Kind() != reflect.Struct || read.PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1" {
		return
	}
	fields := fieldsOf(upstream)
	for name, field := range fieldsOf(read) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if _, isNewer := extensions[resource][at]; isNewer {
			continue
		}
		of, exists := fields[name]
		if !exists {
			t.Errorf("%s: the programs read %s, which HyperShift does not have", resource, at)
			continue
		}
		compareFields(t, resource, at, field, of)
	}
}

// elementOf returns the type of the elements of a list, and of what a pointer points to.
func elementOf(one reflect.Type) reflect.Type {
	for one.Kind() == reflect.Pointer || one.Kind() == reflect.Slice {
		one = one.Elem()
	}
	return one
}

// kindOf returns the kind of a type. Integers of all sizes have the same.
func kindOf(one reflect.Type) reflect.Kind {
	switch one.Kind() {
	case reflect.Int32, reflect.Int64:
		return reflect.Int
	default:
		return one.Kind()
	}
}

// fieldsOf returns the types of the fields of a struct by their names in JSON.
func fieldsOf(one reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range one.NumField() {
		field := one.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "":
			fields[name] = field.Type
		case field.Type.Kind() == reflect.Struct:
			for inner, of := range fieldsOf(field.Type) {
				fields[inner] = of
			}
		}
	}
	return fields
}

// commandPath is a path of a field in a command.
var commandPath = regexp.MustCompile(`\.((?:spec|status)(?:\.[A-Za-z]+(?:\[\*])?)+)`)

// The commands in remedies and documents name fields of HyperShift's types.
func TestPathsOfCommandsExist(t *testing.T) {
	upstream := map[string]reflect.Type{
		"nodepool":      reflect.TypeFor[v1beta1.NodePool](),
		"hostedcluster": reflect.TypeFor[v1beta1.HostedCluster](),
	}
	object := regexp.MustCompile(`\bget (nodepool|hostedcluster)s?\b`)
	found := 0
	for _, file := range []string{
		"test/remedies/testdata/remedies.yaml", "docs/prerequisites.md", "docs/enroll-nodes.md", "docs/day-2.md",
		"docs/run-controller.md", "docs/troubleshooting.md", "docs/upgrading.md",
	} {
		content, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			kind := object.FindStringSubmatch(line)
			if kind == nil {
				continue
			}
			for _, path := range commandPath.FindAllStringSubmatch(line, -1) {
				found++
				if !hasPath(upstream[kind[1]], strings.Split(strings.ReplaceAll(path[1], "[*]", ""), ".")) {
					t.Errorf("%s: %s has no field %s: %s", file, kind[1], path[1], line)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d paths found", found)
	}
}

func hasPath(of reflect.Type, names []string) bool {
	for _, name := range names {
		if of = elementOf(of); of.Kind() != reflect.Struct {
			return false
		}
		field, exists := fieldsOf(of)[name]
		if !exists {
			return false
		}
		of = field
	}
	return true
}

// The types of OpenShift are no dependency of the programs, and not in their source package.
func TestProgramsDoNotDependOnTypes(t *testing.T) {
	content, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(content, []byte("github.com/openshift/")) {
		t.Error("go.mod requires a module of OpenShift")
	}
}

// The objects of the tests have only fields of HyperShift's types.
func TestObjectsAreHyperShifts(t *testing.T) {
	for file, into := range map[string]any{
		"../hostedcluster.yaml": &v1beta1.HostedCluster{},
		"../nodepool.yaml":      &v1beta1.NodePool{},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if content, err = yaml.YAMLToJSON(content); err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// HyperShift's names of annotations and labels that the programs have as text.
func TestNamesOfAnnotations(t *testing.T) {
	content, err := os.ReadFile("../../../internal/admin/nodepool/types.go")
	if err != nil {
		t.Fatal(err)
	}
	registration, err := os.ReadFile("../../../internal/kubelet/registration.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{v1beta1.DisableIgnitionServerAnnotation, v1beta1.NodePoolLabel} {
		if !slices.ContainsFunc([][]byte{content, registration}, func(source []byte) bool {
			return bytes.Contains(source, []byte(`"`+name+`"`))
		}) {
			t.Errorf("no file has %s", name)
		}
	}
}
