// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

// TestMain runs the program if the test binary is called by a name of the program, for shells that
// complete command lines, and as a plugin.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == programName || pluginCommand(name) != "" {
		main()
	}
	os.Exit(m.Run())
}

// admin returns the program under test.
func admin() clitest.Program {
	return clitest.Program{
		Name:      programName,
		Version:   version,
		Run:       run,
		Root:      func() *cobra.Command { return newRootCommand(newPrinter(cli.Streams{})) },
		Documents: documentKinds(),
		Schemas:   cli.Schemas(documentKinds()),
	}
}

func runCommandLine(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return admin().Exec(t, "", args...)
}

// withoutKubeconfig excludes the kubeconfig of the user who runs the tests.
func withoutKubeconfig(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", "")
	before := clientcmd.RecommendedHomeFile // is read when the process starts
	clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "config")
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = before })
}

func TestInvalidCommandLines(t *testing.T) {
	admin().CheckUsageErrors(t, map[string]string{
		"token":      "hcp-node-admin token: a subcommand is required\nsee: hcp-node-admin token --help\n",
		"token mint": "hcp-node-admin token: unknown command \"mint\"\nsee: hcp-node-admin token --help\n",
		"token sow": "hcp-node-admin token: unknown command \"sow\"; did you mean show?\nsee: hcp-node-admin " +
			"token --help\n",
		"token show": "hcp-node-admin token show: one file is required: NAME.token or NAME.yaml\n" +
			"see: hcp-node-admin token show --help\n",
		"token show a b": "hcp-node-admin token show: one file is required: NAME.token or NAME.yaml\n" +
			"see: hcp-node-admin token show --help\n",
		"list":   "hcp-node-admin: unknown command \"list\"; did you mean nodes?\nsee: hcp-node-admin --help\n",
		"delete": "hcp-node-admin: unknown command \"delete\"; did you mean remove?\nsee: hcp-node-admin --help\n",
		"install": "hcp-node-admin: unknown command \"install\"; did you mean controller?\n" +
			"see: hcp-node-admin --help\n",
		"join":            "hcp-node-admin: unknown command \"join\"\nsee: hcp-node-admin --help\n",
		"--enrollments x": "hcp-node-admin: unknown flag: --enrollments\nsee: hcp-node-admin --help\n",
		"approve a b": "hcp-node-admin approve: the name of one node or CSR is required\nsee: " +
			"hcp-node-admin approve --help\n",
		"user-data": "hcp-node-admin user-data: the name of one NodePool is required\n" +
			"see: hcp-node-admin user-data --help\n",
		"upgrade": "hcp-node-admin upgrade: the name of one NodePool is required\nsee: hcp-node-admin upgrade --help\n",
		"upgrade a --pause --resume": "hcp-node-admin upgrade: --pause and --resume exclude each other\n" +
			"see: hcp-node-admin upgrade --help\n",
		"upgrade a --start --stop": "hcp-node-admin upgrade: --start and --stop exclude each other\n" +
			"see: hcp-node-admin upgrade --help\n",
		"upgrade a --max-unavailable 0": "hcp-node-admin upgrade: --max-unavailable 0: must be a positive number or 1% to " +
			"100%\nsee: hcp-node-admin upgrade --help\n",
		"upgrade a --window X": "hcp-node-admin upgrade: --window requires --window-duration, for example 4h\n" +
			"see: hcp-node-admin upgrade --help\n",
		"user-data a b": "hcp-node-admin user-data: the name of one NodePool is required\n" +
			"see: hcp-node-admin user-data --help\n",
		"site apply": "hcp-node-admin site apply: -f FILE is required, and no argument\n" +
			"see: hcp-node-admin site apply --help\n",
		"nodes --phase Ready,None": "hcp-node-admin nodes: --phase: \"None\" is none of Pending, Enrolled, Joined, Ready, " +
			"Upgrading, Degraded, Drifted, Failed, Lost\nsee: hcp-node-admin nodes --help\n",
		"nodes ../a": "hcp-node-admin nodes: \"../a\" is not a valid node name (at most 63 lowercase letters, digits, " +
			"- and .)\nsee: hcp-node-admin nodes --help\n",
		"nodes -o jason": "hcp-node-admin nodes: --output: invalid value \"jason\": must be one of text, wide, json, yaml, " +
			"name\nsee: hcp-node-admin nodes --help\n",
		"nodes a -l b=c": "hcp-node-admin nodes: NODE and --selector exclude each other\nsee: hcp-node-admin nodes --help\n",
		"describe":       "hcp-node-admin describe: the name of one node is required\nsee: hcp-node-admin describe --help\n",
		"remove":         "hcp-node-admin remove: the name of a node is required\nsee: hcp-node-admin remove --help\n",
		"nodes --timeout x": "hcp-node-admin nodes: --timeout: invalid value \"x\": must be a duration such as 90s or " +
			"1h30m\nsee: hcp-node-admin nodes --help\n",
		"nodes --wait Redy": "hcp-node-admin nodes: --wait: \"Redy\" is none of Pending, Enrolled, Joined, Ready, " +
			"Upgrading, Degraded, Drifted, Failed, Lost\nsee: hcp-node-admin nodes --help\n",
		"nodes -w --wait Ready": "hcp-node-admin nodes: --wait and --watch exclude each other\nsee: hcp-node-admin nodes " +
			"--help\n",
	})
}

func TestHelp(t *testing.T) { admin().CheckHelp(t, "enroll") }

func TestHelpOfEveryCommand(t *testing.T) { admin().CheckHelpOfEveryCommand(t) }

func TestVersion(t *testing.T) { admin().CheckVersion(t) }

func TestManPages(t *testing.T) { admin().CheckManPages(t, "oc-hcp-node.1") }

func TestReferenceIsCurrent(t *testing.T) { admin().CheckReference(t, "../../docs/reference-admin.md") }

func TestSchemasAreCurrent(t *testing.T) {
	admin().CheckSchemas(t, "../../docs/schema", "hcp-node-agent")
}

func TestSchemasFollowTheContract(t *testing.T) { admin().CheckSchemaContract(t) }

func TestFailuresPrintTheirDocument(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	admin().CheckFailures(t, [][]string{
		{"enroll", "--offline", "workers", "worker-7"},
		{"token", "revoke", "worker-7", "--kubeconfig", none},
		{"token", "show", none},
		{"token", "show"},
		{"approve"},
		{"approve", "worker-7", "--kubeconfig", none},
		{"approve", "--unknown"},
		{"nodes", "--kubeconfig", none},
		{"remove", "worker-7", "--kubeconfig", none},
		{"describe", "worker-7", "--kubeconfig", none},
		{"user-data", "workers", "--kubeconfig", none},
		{"user-data", "workers", "--output-file", "-"},
		{"controller", "install", "hosted", "--image", "registry.example.com/admin:1", "--kubeconfig", none},
		{"controller", "uninstall", "hosted", "--kubeconfig", none},
	})
}

func TestSchemasAcceptFullAndEmptyDocuments(t *testing.T) { admin().CheckFullAndEmptyDocuments(t) }

func TestJSONDocumentListsTheKinds(t *testing.T) { admin().CheckListOfKinds(t, "../../docs/json.md") }

func TestDocumentedCommands(t *testing.T) {
	admin().CheckDocumentedCommands(t, "../..", 4, func(*cobra.Command) error { return nil })
}

func TestSchemasAcceptPrintedDocuments(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.pem", string(certtest.NewCA(t, "ca").PEM))
	in := func(name string) string { return filepath.Join(dir, name) }
	admin().CheckPrintedDocuments(t, [][]string{
		{"version"},
		{"enroll", "--offline", "workers", "worker-7=192.0.2.7", "--ca", ca, "--output-dir", dir},
		{"enroll", "--offline", "workers", "worker-7", "--ca", ca, "--output-dir", dir},
		{"token", "show", in("tokens/worker-7.token")},
		{"token", "show", in("enrollments/worker-7.yaml")},
		{"token", "show", in("none")},
	})
}
