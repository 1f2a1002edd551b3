package main

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

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// docs/schema must contain exactly the schemas of the current documents.
func TestSchemasAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if got := runCommandLine(t, "", "docs", "schema", dir); got.code != report.Success {
		t.Fatalf("%+v", got)
	}
	files := func(dir string) map[string]string {
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
	if diff := cmp.Diff(files("../../docs/schema"), files(dir)); diff != "" {
		t.Errorf("make docs makes it anew (-files +now):\n%s", diff)
	}
}

// validateDocuments validates documents with an independent implementation of JSON Schema,
// python3-jsonschema, and returns its output. Unknown fields are errors.
func validateDocuments(t *testing.T, documents ...string) string {
	t.Helper()
	closed := map[string]schema.Schema{}
	for name, s := range schemas() {
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

// Documents with all fields set, and with none, match their schemas.
func TestSchemasAcceptFullAndEmptyDocuments(t *testing.T) {
	var texts []string
	for _, d := range documentKinds() {
		for _, full := range []bool{true, false} {
			object := map[string]json.RawMessage{}
			for _, part := range d.parts {
				value := reflect.New(reflect.TypeOf(part)).Elem()
				if full {
					fillFields(value)
				}
				content, err := json.Marshal(value.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(content, &object); err != nil {
					t.Fatal(err)
				}
			}
			object["apiVersion"], object["kind"] = json.RawMessage(`"`+report.APIVersion+`"`), json.RawMessage(`"`+d.kind+`"`)
			content, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(content))
		}
	}
	if wrong := validateDocuments(t, texts...); wrong != "" {
		t.Error(wrong)
	}
}

// fillFields sets every field to a nonzero value.
func fillFields(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fillFields(value.Elem())
	case reflect.Struct:
		switch value.Type() {
		case reflect.TypeFor[time.Time]():
			value.Set(reflect.ValueOf(time.Unix(1795219200, 0).UTC()))
			return
		case reflect.TypeFor[dbus.Variant]():
			value.Set(reflect.ValueOf(dbus.MakeVariant("a")))
			return
		}
		for i := range value.NumField() {
			if field := value.Field(i); field.CanSet() || value.Type().Field(i).Anonymous {
				fillFields(field)
			}
		}
	case reflect.Slice:
		if value.Type() == reflect.TypeFor[json.RawMessage]() {
			value.SetBytes([]byte(`{"a":1}`))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fillFields(value.Index(0))
	case reflect.Map:
		one := reflect.New(value.Type().Elem()).Elem()
		fillFields(one)
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

// The documents that commands print match the schemas.
func TestSchemasAcceptPrintedDocuments(t *testing.T) {
	dir := writeTempFiles(t, map[string]string{
		"good.yaml": configHead + "skip: [network]\n", "typo.yaml": configHead + "untyl: a\n", "ca.pem": string(certtest.NewCA(t, "ca").PEM), "root/x": "",
		"a.ign": `{"ignition":{"version":"3.2.0"},"storage":{"directories":[{"path":"/d"}]}}`,
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	texts := []string{}
	for _, args := range [][]string{
		{"version"},
		{"config", "show", "--config", in("good.yaml")},
		{"config", "show", "--config", in("typo.yaml")},
		{"config", "validate", in("good.yaml")},
		{"config", "validate", in("typo.yaml"), in("none.yaml")},
		{"status", "--config", in("good.yaml")},
		{"preflight", "--config", in("good.yaml")},
		{"plan", "--config", in("good.yaml")},
		{"doctor", "--config", in("good.yaml")},
		{"doctor", "--config", in("typo.yaml")},
		{"apply", "--config", in("a.ign"), "--root", in("root")},
		{"apply", "--config", in("none"), "--root", in("root")},
		{"ticket", "create", "--node", "worker-7", "--ca", in("ca.pem"), "--output-dir", dir, "--address", "192.0.2.7"},
		{"ticket", "create", "--node", "worker-7", "--ca", in("ca.pem"), "--output-dir", dir},
		{"ticket", "show", in("worker-7.ticket")},
		{"ticket", "show", in("worker-7.claim")},
		{"ticket", "show", in("none")},
		{"join", "--config", in("none.yaml")},
	} {
		got := runCommandLine(t, "", append(args, "--output", "json")...)
		if document := decodeDocument(t, got.out); document["exitCode"] != float64(got.code) && args[0] != "version" {
			t.Errorf("%q: exit code %d, in the document %v", args, got.code, document["exitCode"])
		}
		texts = append(texts, got.out)
	}
	if wrong := validateDocuments(t, texts...); wrong != "" {
		t.Error(wrong)
	}
}

// The schema of the configuration file accepts and rejects the same files as the agent.
func TestSchemaOfTheConfiguration(t *testing.T) {
	good := map[string]any{"apiVersion": report.APIVersion, "kind": config.Kind, "timeout": "1h", "skip": []string{"network"}, "payload": map[string]any{"drop": []string{"a.service"}}}
	content, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(content), "timeout", "timeuot", 1)
	if wrong := validateDocuments(t, string(content)); wrong != "" {
		t.Error(wrong)
	}
	if wrong := validateDocuments(t, bad); !strings.Contains(wrong, "timeuot") {
		t.Errorf("of a name that there is not: %q", wrong)
	}
}

// docs/json.md lists every kind.
func TestJSONDocumentListsTheKinds(t *testing.T) {
	content, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documentKinds() {
		if !strings.Contains(string(content), fmt.Sprintf("| [%[1]s.json](schema/%[1]s.json) |", d.kind)) {
			t.Errorf("there is no %s in docs/json.md", d.kind)
		}
	}
}
