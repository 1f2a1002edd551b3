// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// CheckSchemas checks that dir contains exactly the schemas of the program's current documents,
// and otherwise only schemas whose title names another program.
func (p Program) CheckSchemas(t *testing.T, dir, otherProgram string) {
	t.Helper()
	now := t.TempDir()
	if got := p.Exec(t, "", "docs", "schema", now); got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	want := readFiles(t, dir)
	for name, content := range want {
		var head struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal([]byte(content), &head); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(head.Title, otherProgram) {
			delete(want, name)
		}
	}
	if diff := cmp.Diff(want, readFiles(t, now)); diff != "" {
		t.Errorf("make docs updates %s (-files +now):\n%s", dir, diff)
	}
}

func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("nothing in %s: %v", dir, err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(content)
	}
	return all
}

// CheckListOfKinds checks that a document lists every kind of document.
func (p Program) CheckListOfKinds(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range p.Documents {
		if !strings.Contains(string(content), fmt.Sprintf("| [%[1]s.json](schema/%[1]s.json) |", d.Kind)) {
			t.Errorf("there is no %s in %s", d.Kind, file)
		}
	}
}

// ValidateDocuments validates documents with an independent implementation of JSON Schema,
// python3-jsonschema, and returns its output. Unknown fields are errors.
func (p Program) ValidateDocuments(t *testing.T, documents ...string) string {
	t.Helper()
	closed := map[string]schema.Schema{}
	for name, s := range p.Schemas {
		closed[strings.TrimSuffix(name, ".json")] = schema.Closed(s)
	}
	input, err := json.Marshal(map[string]any{"schemas": closed, "documents": documents})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", `
import json, sys
from jsonschema import Draft202012Validator as V
given = json.load(sys.stdin)
for s in given["schemas"].values():
    V.check_schema(s)
for text in given["documents"]:
    d = json.loads(text)
    for e in V(given["schemas"][d["kind"]], format_checker=V.FORMAT_CHECKER).iter_errors(d):
        print(d["kind"], "/".join(map(str, e.absolute_path)) + ":", e.message[:300])
`)
	command.Stdin = bytes.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (make deps installs what tests need)\n%s", err, out)
	}
	return string(out)
}

// CheckFullAndEmptyDocuments checks that documents with all fields set, and with none, match their
// schemas and contain no null.
func (p Program) CheckFullAndEmptyDocuments(t *testing.T) {
	t.Helper()
	var texts []string
	for _, d := range p.Documents {
		for _, full := range []bool{true, false} {
			value := reflect.New(reflect.TypeOf(d.Document)).Elem()
			fillFields(value, full)
			var out bytes.Buffer
			if err := report.WriteJSON(&out, value.Interface()); err != nil {
				t.Fatal(err)
			}
			object := map[string]any{}
			if err := json.Unmarshal(out.Bytes(), &object); err != nil {
				t.Fatal(err)
			}
			if path := findNull(object); path != "" {
				t.Errorf("%s: null at %s in %s", d.Kind, path, out.String())
			}
			object["apiVersion"], object["kind"] = report.APIVersion, d.Kind
			content, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(content))
		}
	}
	if wrong := p.ValidateDocuments(t, texts...); wrong != "" {
		t.Error(wrong)
	}
}

// CheckPrintedDocuments checks that the documents that command lines print match the schemas and
// contain the exit code.
func (p Program) CheckPrintedDocuments(t *testing.T, lines [][]string) {
	t.Helper()
	texts := []string{}
	for _, args := range lines {
		got := p.Exec(t, "", append(args, "--output", "json")...)
		if document := DecodeDocument(t, got.Out); document["exitCode"] != float64(got.Code) && args[0] != "version" {
			t.Errorf("%q: exit code %d, in the document %v", args, got.Code, document["exitCode"])
		}
		texts = append(texts, got.Out)
	}
	if wrong := p.ValidateDocuments(t, texts...); wrong != "" {
		t.Error(wrong)
	}
}

// fillFields sets the fields with a closed set of values to the first value. If full is set, it also
// sets every other field to a nonzero value.
func fillFields(value reflect.Value, full bool) {
	if values, isEnum := value.Interface().(schema.Enum); isEnum {
		value.SetString(values.Enum()[0])
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if full {
			value.Set(reflect.New(value.Type().Elem()))
			fillFields(value.Elem(), full)
		}
	case reflect.Struct:
		switch {
		case full && value.Type() == reflect.TypeFor[time.Time]():
			value.Set(reflect.ValueOf(time.Unix(1795219200, 0).UTC()))
			return
		case value.Type() == reflect.TypeFor[metav1.ObjectMeta](): // its schema is that of the API server
			value.FieldByName("Name").SetString("a")
			return
		case full && value.Type() == reflect.TypeFor[dbus.Variant]():
			value.Set(reflect.ValueOf(dbus.MakeVariant("a")))
			return
		}
		for i := range value.NumField() {
			of := value.Type().Field(i)
			if field := value.Field(i); (field.CanSet() || of.Anonymous) && of.Tag.Get("doc") != "-" { // published
				fillFields(field, full)
			}
		}
	default:
		if full {
			fillValue(value)
		}
	}
}

// fillValue sets a value that is not a struct or a pointer to a nonzero value.
func fillValue(value reflect.Value) {
	switch value.Kind() {
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fillFields(value.Index(0), true)
	case reflect.Map:
		one := reflect.New(value.Type().Elem()).Elem()
		fillFields(one, true)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("a").Convert(value.Type().Key()), one)
	case reflect.String:
		value.SetString("a")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Float64:
		value.SetFloat(1.5)
	case reflect.Int, reflect.Int64, reflect.Int32:
		value.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(1)
	case reflect.Interface:
		if value.NumMethod() == 0 {
			value.Set(reflect.ValueOf([]string{"a"}))
		}
	default:
		panic(fmt.Sprintf("a value of type %s", value.Type()))
	}
}
