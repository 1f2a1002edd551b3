// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

const agentURL = "https://files.example.com/hcp-node-agent?signature=SECRET"

var agentSum = strings.Repeat("0A", 64)

// writeUserData writes user data and returns its path and content.
func writeUserData(t *testing.T, dir string) (path, content string) {
	t.Helper()
	content = encodedUserData(t, string(certtest.NewCA(t, "ca").PEM))
	return writeTestFile(t, dir, "user-data.ign", content), content
}

// offlineCommand returns a command line that enrolls nodes below dir without a cluster.
func offlineCommand(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	return append([]string{"enroll", "--offline", "workers", "--ca", ca, "--output-dir", filepath.Join(dir, "out")}, args...)
}

func TestEnrollIgnition(t *testing.T) {
	dir := t.TempDir()
	userDataFile, userData := writeUserData(t, dir)
	got := runCommandLine(t, offlineCommand(t, dir, "worker-7", "--embed-user-data", userDataFile,
		"--format", "ignition", "--agent-url", agentURL, "--agent-sha512", agentSum)...)
	path := enrollment.HostPath(filepath.Join(dir, "out"), "worker-7", ".ign")
	if got.Code != report.Success || got.Err != "" {
		t.Fatalf("code %d, %s", got.Code, got.Err)
	}
	for _, want := range []string{
		"worker-7: created, " + path + ", valid until ",
		"\ncoreos-installer install --ignition-file " + path + " /dev/DEVICE\n",
		"\noc --kubeconfig hosted.kubeconfig apply -f ",
	} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("the output does not contain %q:\n%s", want, got.Out)
		}
	}
	if strings.Contains(got.Out, "SECRET") || strings.Contains(got.Out, "hcp-node-agent join") {
		t.Errorf("the output contains a secret, or a command that this host does not need:\n%s", got.Out)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	parsed, err := resolve.Parse(mustReadFile(t, path))
	if err != nil || len(parsed.Warnings) > 0 || parsed.Version != "3.2.0" || len(parsed.Config.Storage.Files) != 2 {
		t.Fatalf("%v, %v", parsed, err)
	}
	config := parsed.Config
	embedded, err := dataurl.DecodeString(*config.Storage.Files[0].Contents.Source)
	if err != nil {
		t.Fatal(err)
	}
	tokenPath, _ := enrollment.Paths(filepath.Join(dir, "out"), "worker-7")
	if string(embedded.Data) != string(mustReadFile(t, tokenPath)) {
		t.Error("the user data does not contain the join token of the node")
	}
	if token, err := enrollment.ParseToken(embedded.Data); err != nil || string(token.UserData) != userData {
		t.Errorf("the join token does not contain the user data: %v, %v", token, err)
	}
	agent := config.Storage.Files[1]
	if agent.Path != rhcos.AgentPath || *agent.Contents.Source != agentURL ||
		*agent.Contents.Verification.Hash != "sha512-"+strings.ToLower(agentSum) {
		t.Errorf("the binary is %+v", agent)
	}
}

func TestEnrollIgnitionWithTheAgentInTheImage(t *testing.T) {
	dir := t.TempDir()
	userDataFile, _ := writeUserData(t, dir)
	nodes := writeTestFile(t, dir, "nodes", "worker-1\nworker-2\n")
	got := runCommandLine(t, offlineCommand(t, dir, "-f", nodes, "--embed-user-data", userDataFile, "--format", "ignition",
		"-o", "json")...)
	list, _ := clitest.DecodeDocument(t, got.Out)["enrollments"].([]any)
	if got.Code != report.Success || len(list) != 2 {
		t.Fatalf("code %d, %s%s", got.Code, got.Out, got.Err)
	}
	for _, one := range list {
		path, _ := one.(map[string]any)["hostFile"].(string)
		parsed, err := resolve.Parse(mustReadFile(t, path))
		if err != nil {
			t.Fatal(err)
		}
		config := parsed.Config
		if len(parsed.Warnings) > 0 || len(config.Storage.Files) != 1 || config.Systemd.Units[0].Contents != nil ||
			!*config.Systemd.Units[0].Enabled {
			t.Errorf("%s: warnings %q, %+v", path, parsed.Warnings, config)
		}
	}
}

// An earlier user data file can be the only copy of what an installer uses, so the node is skipped.
func TestEnrollKeepsUserData(t *testing.T) {
	for _, args := range [][]string{{"--format", "ignition"}, nil} {
		dir := t.TempDir()
		userDataFile, _ := writeUserData(t, dir)
		path := enrollment.HostPath(filepath.Join(dir, "out"), "worker-7", ".ign")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, filepath.Dir(path), filepath.Base(path), "earlier")
		args = append(args, "worker-7", "--embed-user-data", userDataFile)
		got := runCommandLine(t, offlineCommand(t, dir, args...)...)
		if got.Code != report.Success || !strings.Contains(got.Out, path+" exists and is kept") ||
			string(mustReadFile(t, path)) != "earlier" {
			t.Errorf("%q: code %d, %s%s", args, got.Code, got.Out, got.Err)
		}
		if token, record := enrollment.Paths(filepath.Join(dir, "out"), "worker-7"); exists(token) || exists(record) {
			t.Errorf("%q: a token or an enrollment was created beside the earlier user data", args)
		}
	}
}

func TestEnrollIgnitionRejectsInvalidFlags(t *testing.T) {
	dir := t.TempDir()
	userDataFile, content := writeUserData(t, dir)
	spec2 := writeTestFile(t, dir, "spec2.ign", `{"ignition":{"version":"2.2.0"}}`)
	noServer := writeTestFile(t, dir, "no-server.ign", `{"ignition":{"version":"3.2.0"}}`)
	withFiles := writeTestFile(t, dir, "with-files.ign",
		strings.Replace(content, `"storage":{}`, `"storage":{"files":[{"path":"/etc/a"}]}`, 1))
	rhcosFlags := "--format ignition --embed-user-data " + userDataFile
	sum := " --agent-sha512 " + agentSum
	for line, want := range map[string]string{
		"--format fedora --embed-user-data " + userDataFile: `--format: invalid value "fedora"`,
		"--format ignition": "requires --embed-user-data",
		"--embed-user-data " + userDataFile + " --agent-url " + agentURL + sum:         "require --format ignition",
		rhcosFlags + " --agent-url " + agentURL:                                        "--agent-url requires --agent-sha512",
		rhcosFlags + sum:                                                               "--agent-sha512 requires --agent-url",
		rhcosFlags + " --agent-url " + agentURL + " --agent-sha512 0a":                 "not 128 hexadecimal digits",
		rhcosFlags + " --agent-url " + agentURL + " --agent-sha512 sha512-" + agentSum: "not 128 hexadecimal digits",
		rhcosFlags + " --agent-url " + agentURL + " --agent-sha512 z" + agentSum[1:]:   "not 128 hexadecimal digits",
		rhcosFlags + " --agent-url ftp://files.example.com/agent" + sum:                `the scheme is "ftp"`,
		rhcosFlags + " --agent-url /srv/hcp-node-agent" + sum:                          `the scheme is ""`,
		rhcosFlags + " --agent-url https:///hcp-node-agent" + sum:                      "contains no host",
		rhcosFlags + " --agent-url http://[::1/hcp-node-agent" + sum:                   "not a valid URL",
		"--format ignition --embed-user-data " + spec2:                                 "Ignition spec 2.2.0",
		"--format ignition --embed-user-data " + noServer:                              "names no ignition server",
		"--format ignition --embed-user-data " + withFiles:                             "also contains storage",
	} {
		got := runCommandLine(t, offlineCommand(t, dir, append([]string{"worker-7"}, strings.Fields(line)...)...)...)
		if got.Code != report.Usage || strings.Count(got.Err, want) != 1 || strings.Contains(got.Err, "SECRET") {
			t.Errorf("%s: code %d, %s, want %q", line, got.Code, got.Err, want)
		}
		if exists(filepath.Join(dir, "out")) {
			t.Fatalf("%s: files were written", line)
		}
	}
}

func mustReadFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// unwrap joins the lines of a text.
func unwrap(text string) string { return text + strings.Join(strings.Fields(text), " ") }
