// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// CheckSchemaContract checks the rules for all schemas: the ID is an absolute URI, every field has a
// description, and no value can be null.
func (p Program) CheckSchemaContract(t *testing.T) {
	t.Helper()
	for name, s := range p.Schemas {
		id, _ := s["$id"].(string)
		if parsed, err := url.Parse(id); err != nil || parsed.Scheme != "https" || parsed.Host == "" ||
			parsed.Fragment != "" {
			t.Errorf("%s: $id %q is not an absolute URI: %v", name, id, err)
		}
		for _, problem := range contractProblems(s, strings.TrimSuffix(name, ".json")) {
			t.Error(problem)
		}
	}
}

// contractProblems returns the violations of the rules in a schema.
func contractProblems(s schema.Schema, path string) []string {
	var problems []string
	switch types := s["type"].(type) {
	case string:
	case []string:
		if slices.Contains(types, "null") {
			problems = append(problems, path+" can be null")
		}
	default:
		problems = append(problems, path+" has no type, so it can be null")
	}
	properties, _ := s["properties"].(map[string]schema.Schema)
	for name, property := range properties {
		if text, _ := property["description"].(string); strings.TrimSpace(text) == "" {
			problems = append(problems, path+"."+name+" has no description")
		}
		problems = append(problems, contractProblems(property, path+"."+name)...)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, isSchema := s[key].(schema.Schema); isSchema {
			problems = append(problems, contractProblems(inner, path+"[]")...)
		}
	}
	return problems
}

// findNull returns the path of a null in a decoded document, or "" if there is none.
func findNull(value any) string {
	switch v := value.(type) {
	case nil:
		return "/"
	case map[string]any:
		for name, one := range v {
			if path := findNull(one); path != "" {
				return "/" + name + path
			}
		}
	case []any:
		for _, one := range v {
			if path := findNull(one); path != "" {
				return "/[]" + path
			}
		}
	}
	return ""
}

// CheckFailures checks that each command line fails and prints a document of kind Failure with its
// exit code.
func (p Program) CheckFailures(t *testing.T, lines [][]string) {
	t.Helper()
	var texts []string
	for _, args := range lines {
		got := p.Exec(t, "", append(args, "--output", "json")...)
		document := DecodeDocument(t, got.Out)
		if got.Code == report.Success || document["kind"] != "Failure" || document["exitCode"] != float64(got.Code) ||
			document["error"] == nil || got.Err == "" {
			t.Errorf("%q: exit code %d, document %v, printed to stderr: %q", args, got.Code, document, got.Err)
		}
		texts = append(texts, got.Out)
	}
	if wrong := p.ValidateDocuments(t, texts...); wrong != "" {
		t.Error(wrong)
	}
}
