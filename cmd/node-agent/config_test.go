package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
	made, _, err := enrollment.New(enrollment.Options{NodeName: "worker-7", ClusterCA: certtest.NewCA(t, "ca").PEM, Labels: []string{"zone=b", "rack=4"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := writeTempFiles(t, map[string]string{
		"config.yaml": configHead + "endpoint: https://me:hunter2@ignition.example.com\n", "config.d/10-site.yaml": configHead + "# this rack\nnodeLabels: [zone=a]\n",
		"node.token": string(content),
	})
	file := filepath.Join(dir, "config.yaml")
	got := runCommandLine(t, "", "config", "show", "--config", file, "--join-token", filepath.Join(dir, "node.token"), "--until", "ready")
	want := `DIR/config.yaml
DIR/config.d/10-site.yaml

  endpoint  https://***@ignition.example.com  DIR/config.yaml:3
  networkTimeout  1m30s  default
  nodeLabels  ["zone=a"]  DIR/config.d/10-site.yaml:4
  joinToken  DIR/node.token  --join-token
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
	dir := writeTempFiles(t, map[string]string{
		"config.yaml": configHead + "untyl: ready\nskip: [netwrk, fetch]\n", "config.d/10-site.yaml": configHead +
			"timeout: -1s\n", "good.yaml": configHead,
	})
	file := filepath.Join(dir, "config.yaml")
	const steps = "valid steps: [preflight validate packages files system network runtime client-certificate kubelet serving-certificate ready schedulable]"
	want := strings.ReplaceAll(`DIR/config.yaml:3: field untyl not found in type config.Join
DIR/config.d/10-site.yaml:3: timeout is -1s; it must not be negative
DIR/config.yaml:4: skip: "netwrk" is not valid; `+steps+`
DIR/config.yaml:4: skip: "fetch" is not valid; `+steps+"\n", "DIR", dir)
	if diff := cmp.Diff(clitest.Result{Code: report.Usage, Out: want}, runCommandLine(t, "", "config", "validate", "--config", file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	good := filepath.Join(dir, "good.yaml")
	if diff := cmp.Diff(clitest.Result{Code: report.Success, Out: "no problems in " + good +
		"\n"}, runCommandLine(t, "", "config", "validate", good)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := runCommandLine(t, "", "config", "validate", good, file, "--output", "json")
	document := clitest.DecodeDocument(t, got.Out)
	if got.Code != report.Usage || len(document["problems"].([]any)) != 3 || document["exitCode"] != 2.0 {
		t.Errorf("code %d, %s%s", got.Code, got.Out, got.Err)
	}
	first := map[string]any{"file": file, "line": 3.0, "message": "field untyl not found in type config.Join"}
	if diff := cmp.Diff(first, document["problems"].([]any)[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A configuration file that other users can write causes one error, whose remedy is the command
// that fixes the mode.
func TestWritableConfigIsRefused(t *testing.T) {
	file := filepath.Join(writeTempFiles(t, map[string]string{"config.yaml": configHead}), "config.yaml")
	if err := os.Chmod(file, 0o666); err != nil { //nolint:gosec // what the test is about
		t.Fatal(err)
	}
	for _, line := range [][]string{{"config", "validate", file}, {"config", "show", "--config", file}, {"join", "--config", file}} {
		got := runCommandLine(t, "", line...)
		all := got.Out + got.Err
		if got.Code != report.Usage || !strings.Contains(all, file+": file ignored: users other than root can write to it") || !strings.Contains(all, "\nchmod go-w "+file+"\n") {
			t.Errorf("%q: code %d, %s", line, got.Code, all)
		}
	}
}
