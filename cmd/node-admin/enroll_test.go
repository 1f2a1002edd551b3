// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func writeTestFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func kubeconfig(ca string) string {
	return "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],\n" +
		"clusters: [{name: c, cluster: {server: 'https://api.example.com:6443', certificate-authority-data: " +
		base64.StdEncoding.EncodeToString(
			[]byte(ca),
		) + "}}],\nusers: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/false, " +
		"interactiveMode: Never}}}]}\n"
}

const unassignedUUID = "0b4fbd3e-0f8a-4e2e-9a39-a4d4c1e5ba45" // not assigned to any server

// encodedUserData returns user data as HyperShift writes it.
func encodedUserData(t *testing.T, ca string) string {
	t.Helper()
	userData, err := ignition.NewUserData(
		ignition.Values{Endpoint: "a.example.com", Token: []byte(unassignedUUID), CA: []byte(ca), NodePool: "clusters/a"},
	)
	if err != nil {
		t.Fatal(err)
	}
	content, err := userData.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestEnrollOffline(t *testing.T) {
	dir, ca := t.TempDir(), string(certtest.NewCA(t, "ca").PEM)
	config := writeTestFile(t, dir, "kubeconfig", kubeconfig(ca))
	userDataContent := encodedUserData(t, ca)
	userDataFile := writeTestFile(t, dir, "user-data.ign", userDataContent)
	got := runCommandLine(t, "enroll", "--offline", "workers", "worker-7=192.0.2.7,2001:db8::7", "--hosted-kubeconfig",
		config, "--label", "rack=r1", "--label", "node-role.kubernetes.io/infra=", "--taint", "dedicated=gpu:NoSchedule",
		"--reinstall", "allow", "--embed-user-data", userDataFile, "--output-dir", dir)
	tokenPath, enrollmentPath := enrollment.Paths(dir, "worker-7")
	if got.Code != report.Success || got.Err != "" {
		t.Fatalf("code %d, %s", got.Code, got.Err)
	}
	for _, want := range []string{
		"worker-7: created, " + tokenPath + ", valid until ", "\nhcp-node-agent join --join-token worker-7.token\n",
		"\noc --kubeconfig hosted.kubeconfig apply -f " + filepath.Dir(enrollmentPath) + "\n",
	} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("it does not say %q, but:\n%s", want, got.Out)
		}
	}
	content, err := os.ReadFile(tokenPath)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(tokenPath); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	made, err := enrollment.ParseToken(content)
	if err != nil || string(made.UserData) != userDataContent || len(made.Labels) != 1 || len(made.Taints) != 1 ||
		time.Until(made.Expires) > 5*time.Hour {
		t.Errorf("%v, %v", made, err)
	}
	for _, path := range []string{tokenPath, enrollmentPath} {
		for _, output := range []string{"text", "json"} {
			shown := runCommandLine(t, "token", "show", path, "-o", output)
			if shown.Code != report.Success || !strings.Contains(shown.Out, made.ID) ||
				!strings.Contains(shown.Out, made.Summarize(time.Now()).Fingerprint) ||
				!strings.Contains(shown.Out, "worker-7") {
				t.Errorf("show %s: code %d\n%s%s", path, shown.Code, shown.Out, shown.Err)
			}
			for _, secret := range []string{
				unassignedUUID, "PRIVATE", "privateKey",
				base64.StdEncoding.EncodeToString([]byte(unassignedUUID)),
			} {
				if strings.Contains(shown.Out+shown.Err+got.Out, secret) {
					t.Errorf("a secret is shown: %s", shown.Out)
				}
			}
		}
	}
	record, err := enrollment.ParseEnrollment(mustReadFile(t, enrollmentPath))
	if err != nil || record.NodePool != "workers" || record.Reinstall != v1alpha1.ReinstallAllow ||
		len(record.Addresses) != 2 ||
		len(record.Labels) != 2 || len(record.Taints) != 1 { // also the label that a kubelet must not set
		t.Errorf("the manifest contains %+v, %v", record, err)
	}
	again := runCommandLine(t, "enroll", "--offline", "workers", "worker-7", "worker-8", "--hosted-kubeconfig", config,
		"--output-dir", dir)
	after, err := os.ReadFile(tokenPath)
	if again.Code != report.Success || err != nil || string(after) != string(content) ||
		!strings.Contains(again.Out, "worker-7: "+tokenPath+" exists and is kept") {
		t.Errorf("over an existing one: code %d, %s%s", again.Code, again.Out, again.Err)
	}
	if added, _ := enrollment.Paths(dir, "worker-8"); !exists(added) {
		t.Error("the token of the added node is missing")
	}
}

func TestTokensForSeveralNodes(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	nodes := writeTestFile(t, dir, "nodes", "# the first rack\nworker-1 192.0.2.1 2001:db8::1\n\nworker-2   # by hand\n")
	got := runCommandLine(t, "enroll", "--offline", "workers", "-f", nodes, "worker-3", "--ca", ca, "--expires", "72h",
		"--output-dir", dir, "-o", "json")
	document := clitest.DecodeDocument(t, got.Out)
	list, _ := document["enrollments"].([]any)
	if got.Code != report.Success || document["kind"] != "EnrollResult" || len(list) != 3 {
		t.Fatalf("code %d, %s%s", got.Code, got.Out, got.Err)
	}
	for name, addresses := range map[string]int{"worker-1": 2, "worker-2": 0, "worker-3": 0} {
		_, path := enrollment.Paths(dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		record, err := enrollment.ParseEnrollment(content)
		if err != nil || record.NodeName != name || len(record.Addresses) != addresses ||
			time.Until(record.Expires) < 71*time.Hour {
			t.Errorf("%s: %+v, %v", name, record, err)
		}
	}
}

func TestEnrollRejectsInvalidFlags(t *testing.T) {
	withoutKubeconfig(t)
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	config := writeTestFile(t, dir, "kubeconfig", kubeconfig(string(certtest.NewCA(t, "ca").PEM)))
	userData, _ := writeUserData(t, dir)
	offline := "--offline --ca " + ca + " workers "
	for line, want := range map[string]string{
		"":                                              "the name of the NodePool is required, then the nodes or -f FILE",
		"workers a":                                     "no kubeconfig was found",
		"workers a --kubeconfig /gone":                  "reading the kubeconfig: stat /gone",
		"workers a --hosted-kubeconfig /gone":           "reading the kubeconfig: stat /gone",
		"workers a --ca " + ca:                          "--ca requires --offline",
		"workers -f - --kubeconfig -":                   "only one of --filename and --kubeconfig can read standard input",
		"--offline workers a":                           "--offline requires the CA of the hosted cluster",
		offline + "a --hosted-kubeconfig " + ca:         "either --ca FILE or --hosted-kubeconfig FILE",
		offline + "a -n clusters":                       "--namespace and --hosted-cluster have no effect",
		offline + "a --kubeconfig " + config:            "--namespace and --hosted-cluster have no effect",
		"--offline workers a --ca " + os.DevNull:        "no certificate in PEM form",
		"--offline workers a --hosted-kubeconfig " + ca: "is not a kubeconfig",
		offline:                               "no node is given",
		offline + "Worker_1":                  "is not a valid node name",
		offline + "../a":                      "is not a valid node name",
		offline + "a a":                       "node a is listed twice",
		offline + "a=192.0.2.1 b=192.0.2.1":   "a and b have the same address 192.0.2.1",
		offline + "a=127.0.0.1":               "other machines cannot reach",
		offline + "a=here":                    "is not an IP address",
		offline + "a=":                        "is not an IP address",
		offline + "a --label x":               "not a label in the format key=value",
		offline + "a --taint x=y":             "not a taint in the format key=value:Effect",
		offline + "a --expires 1s":            "1 minute to 30 days (720h), not for 1s",
		offline + "a --embed-user-data " + ca: "not JSON",
		offline + "a --embed-user-data /gone": "--embed-user-data: open /gone",
		offline + "a -f /gone":                "--filename: open /gone",
		offline + "a --format kickstart":      "requires --embed-user-data",
		offline + "a --format kickstart --embed-user-data " + userData: "--format kickstart requires --site-config",
		offline + "a --site-config /gone":                              "--site-config requires a --format other than dir",
		offline + "a --format ansible --site-config /gone":             "--site-config: open /gone",
		offline + "a --format ansible --site-config " + ca:             "--site-config: " + ca + ": ",
		offline + "a -f " + writeTestFile(t, dir, "n", "b 192.0.2"):    "line 1: \"192.0.2\" is not an IP address",
		offline + "a --output-dir " + filepath.Join(ca, "no"):          "not a directory",
	} {
		args := append([]string{"enroll"}, strings.Fields(line)...)
		if !strings.Contains(line, "--output-dir") {
			args = append(args, "--output-dir", dir)
		}
		got := runCommandLine(t, args...)
		if got.Code == report.Success || strings.Count(got.Err, want) != 1 {
			t.Errorf("%s: code %d, %s, want %q", line, got.Code, got.Err, want)
		}
	}
	for _, name := range []string{"tokens", "enrollments"} {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("the directory %s was created", name)
		}
	}
}

func TestEnrollWarnsOfNames(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	got := runCommandLine(t, "enroll", "--offline", "workers", "a.example.com", "b", "192.0.2.7", "localhost", "--ca", ca,
		"--output-dir", dir)
	for _, want := range []string{
		"b has no domain, but", "192.0.2.7 is an IP address, not the name of a host", "localhost is the name of a host that",
	} {
		if !strings.Contains(got.Out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.Out)
		}
	}
	if got.Code != report.Success || strings.Contains(got.Out, "a.example.com has") {
		t.Errorf("code %d, %s%s", got.Code, got.Out, got.Err)
	}
}

// The documented commands use a directory that does not exist yet.
func TestEnrollCreatesTheDirectory(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	out := filepath.Join(dir, "new", "rack-1")
	got := runCommandLine(t, "enroll", "--offline", "workers", "worker-7", "--ca", ca, "--output-dir", out)
	secret, public := enrollment.Paths(out, "worker-7")
	if got.Code != report.Success || !exists(secret) || !exists(public) {
		t.Fatalf("code %d, %s", got.Code, got.Err)
	}
	if info, err := os.Stat(filepath.Dir(secret)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
	}
	bad := filepath.Join(dir, "bad")
	if got := runCommandLine(t, "enroll", "--offline", "workers", "Bad_Name", "--ca", ca, "--output-dir",
		bad); got.Code != report.Usage ||
		exists(bad) {
		t.Errorf("with a bad name: code %d, %s; the directory exists: %t", got.Code, got.Err, exists(bad))
	}
}
