// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

const configHead = "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\n"

// writeTempFiles writes files to a new directory and returns its path.
func writeTempFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfigShow(t *testing.T) {
	made, _, err := enrollment.New(enrollment.Options{
		NodeName:  "worker-7",
		ClusterCA: certtest.NewCA(t, "ca").PEM,
		Labels:    []string{"zone=b", "rack=4"},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := writeTempFiles(t, map[string]string{
		"config.yaml":           configHead + "endpoint: ignition.example.com\n",
		"config.d/10-site.yaml": configHead + "# this rack\nnodeLabels: [zone=a]\n",
		"node.token":            string(content),
	})
	file := filepath.Join(dir, "config.yaml")
	got := runCommandLine(t, "", "config", "show", "--config", file, "--join-token", filepath.Join(dir, "node.token"),
		"--until", "ready")
	want := `DIR/config.yaml
DIR/config.d/10-site.yaml

  endpoint  ignition.example.com  DIR/config.yaml:3
  networkTimeout  1m30s  default
  nodeLabels  ["zone=a"]  DIR/config.d/10-site.yaml:4
  joinToken  DIR/node.token  --join-token
  software  auto  default
  hostSettings  report  default
  until  ready  --until
  timeout  1h0m0s  default
  nodeLabels  ["rack=4"]  join token DIR/node.token
`
	columns := regexp.MustCompile("  +").ReplaceAllString(strings.ReplaceAll(got.Out, dir, "DIR"), "  ")
	if diff := cmp.Diff(want, columns); diff != "" || got.Code != report.Success || got.Err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.Code, got.Err, diff)
	}
}

func TestConfigValidate(t *testing.T) {
	// Exec removes these variables for other tests.
	program := agent()
	program.Variables = ""
	t.Setenv("HCP_NODE_AGENT_TIMEOT", "5m")
	dir := writeTempFiles(t, map[string]string{
		"config.yaml":           configHead + "skip: [netwrk, fetch]\nuntyl: ready\n",
		"config.d/10-site.yaml": configHead + "timeout: -1s\n",
		"good/config.yaml":      configHead,
	})
	file, good := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "good/config.yaml")
	allowed := "must be one of " + strings.Join(steps.SkipValues(), ", ")
	want := strings.ReplaceAll(`DIR/config.yaml:3:8: skip: invalid value "netwrk": `+allowed+`
DIR/config.yaml:3:16: skip: invalid value "fetch": `+allowed+`
DIR/config.yaml:4:1: untyl: unknown setting; did you mean until?
DIR/config.d/10-site.yaml:3:10: timeout: invalid value "-1s": must not be negative
HCP_NODE_AGENT_TIMEOT: no setting has this environment variable; did you mean HCP_NODE_AGENT_TIMEOUT?
`, "DIR", dir)
	diff := cmp.Diff(clitest.Result{Code: report.Usage, Out: want},
		program.Exec(t, "", "config", "validate", "--config", file))
	if diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, command := range []string{"join", "plan", "preflight", "doctor", "run"} {
		got := program.Exec(t, "", command, "--config", good)
		want := "hcp-node-agent " + command +
			": invalid configuration: HCP_NODE_AGENT_TIMEOT: no setting has this environment variable; " +
			"did you mean HCP_NODE_AGENT_TIMEOUT?\nsee: hcp-node-agent " + command + " --help\n"
		if got.Code != report.Usage || got.Err != want {
			t.Errorf("%s: code %d, %s", command, got.Code, got.Err)
		}
	}
	// A file is validated alone.
	valid := clitest.Result{Code: report.Success, Out: "no problems in " + good + "\n"}
	if diff := cmp.Diff(valid, program.Exec(t, "", "config", "validate", good)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := runCommandLine(t, "", "config", "validate", good, file, "--output", "json")
	document := clitest.DecodeDocument(t, got.Out)
	if got.Code != report.Usage || len(document["problems"].([]any)) != 3 || document["exitCode"] != 2.0 {
		t.Errorf("code %d, %s%s", got.Code, got.Out, got.Err)
	}
	first := map[string]any{
		"file":    file,
		"key":     "skip",
		"line":    3.0,
		"column":  8.0,
		"message": `skip: invalid value "netwrk": ` + allowed,
	}
	if diff := cmp.Diff(first, document["problems"].([]any)[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Standard input is validated like a file.
func TestConfigValidateStandardInput(t *testing.T) {
	for name, content := range map[string]string{"valid": configHead, "invalid": ""} {
		if content == "" {
			bad, err := os.ReadFile(filepath.Join("testdata", "config", "invalid.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			content = string(bad)
		}
		want, err := os.ReadFile(filepath.Join("testdata", "config", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		got := runCommandLine(t, content, "config", "validate", "-")
		if diff := cmp.Diff(string(want), got.Out); diff != "" || (got.Code == report.Success) != (name == "valid") ||
			got.Err != "" {
			t.Errorf("%s: code %d, %s (-want +got):\n%s", name, got.Code, got.Err, diff)
		}
	}
}

// A configuration file that other users can write causes one error, whose remedy is the command
// that fixes the mode.
func TestWritableConfigIsRefused(t *testing.T) {
	file := filepath.Join(writeTempFiles(t, map[string]string{"config.yaml": configHead}), "config.yaml")
	if err := os.Chmod(file, 0o666); err != nil { //nolint:gosec // what the test is about
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"config", "validate", file},
		{"config", "show", "--config", file},
		{"join", "--config", file},
	} {
		got := runCommandLine(t, "", line...)
		all := got.Out + got.Err
		if got.Code != report.Usage || !strings.Contains(all, file+": file ignored: users other than root can write to it") ||
			!strings.Contains(all, "\nchmod go-w "+file+"\n") {
			t.Errorf("%q: code %d, %s", line, got.Code, all)
		}
	}
}
