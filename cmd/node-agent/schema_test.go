// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestSchemasAreCurrent(t *testing.T) {
	agent().CheckSchemas(t, "../../docs/schema", "hcp-node-admin")
}

func TestSchemasFollowTheContract(t *testing.T) { agent().CheckSchemaContract(t) }

func TestSchemasAcceptFullAndEmptyDocuments(t *testing.T) { agent().CheckFullAndEmptyDocuments(t) }

func TestJSONDocumentListsTheKinds(t *testing.T) { agent().CheckListOfKinds(t, "../../docs/json.md") }

// The documents that commands print match the schemas.
func TestSchemasAcceptPrintedDocuments(t *testing.T) {
	dir := writeTempFiles(t, map[string]string{
		"good.yaml": configHead + "skip: [network]\n", "typo.yaml": configHead + "untyl: a\n",
		"ca.pem": string(certtest.NewCA(t, "ca").PEM), "root/x": "",
		"a.ign": `{"ignition":{"version":"3.2.0"},"storage":{"directories":[{"path":"/d"}]}}`,
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	agent().CheckPrintedDocuments(t, [][]string{
		{"version"},
		{"config", "show", "--config", in("good.yaml")},
		{"config", "show", "--config", in("typo.yaml")},
		{"config", "validate", in("good.yaml")},
		{"config", "validate", in("typo.yaml"), in("none.yaml")},
		{"status", "--config", in("good.yaml")},
		{"preflight", "--config", in("good.yaml")},
		{"plan", "--config", in("good.yaml")},
		append(planArguments(), "--detailed-exitcode"),
		{"doctor", "--config", in("good.yaml")},
		{"doctor", "--config", in("typo.yaml")},
		{"apply", "--payload", in("a.ign"), "--root", in("root")},
		{"apply", "--payload", in("none"), "--root", in("root")},
		{"join", "--config", in("none.yaml")},
	})
}

// A command that fails without a result prints a document of kind Failure.
func TestFailuresPrintTheirDocument(t *testing.T) {
	dir := writeTempFiles(t, map[string]string{
		"good.yaml": configHead,
		"typo.yaml": configHead + "untyl: a\n",
		"root/x":    "",
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	agent().CheckFailures(t, [][]string{
		{"join", "--config", in("none.yaml")},
		{"join", "--config", in("good.yaml"), "--user-data", in("none")},
		{"join", "--config", in("typo.yaml")},
		{"plan", "--config", in("good.yaml"), "--user-data", in("none")},
		{"plan", "--config", in("good.yaml"), "--payload", in("none")},
		append(planArguments(), "--facts", in("good.yaml")),
		{"preflight", "--config", in("good.yaml"), "--user-data", in("none")},
		{"status", "--config", in("typo.yaml")},
		{"doctor", "--config", in("typo.yaml")},
		{"apply"},
		{"apply", "--payload", in("none"), "--root", in("root")},
		{"status", "--unknown"},
		{"status", "now"},
		{"jion"},
		{"config"},
	})
}

// The schema of the configuration file accepts and rejects the same files as the agent.
func TestSchemaOfTheConfiguration(t *testing.T) {
	good := map[string]any{
		"apiVersion": report.APIVersion,
		"kind":       config.Kind,
		"timeout":    "1h",
		"skip":       []string{"network"},
		"payload":    map[string]any{"drop": []string{"a.service"}},
	}
	content, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(content), "timeout", "timeuot", 1)
	if wrong := agent().ValidateDocuments(t, string(content)); wrong != "" {
		t.Error(wrong)
	}
	if wrong := agent().ValidateDocuments(t, bad); !strings.Contains(wrong, "timeuot") {
		t.Errorf("of a name that there is not: %q", wrong)
	}
}
