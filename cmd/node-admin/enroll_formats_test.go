// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const siteContent = "apiVersion: hcp-node-agent.io/v1alpha1\nkind: SiteConfig\nrepositories:\n" +
	"- {name: a, baseurl: 'https://packages.example.com', gpgkey: 'https://packages.example.com/KEY'}\n"

// Each format writes the input of a host beside its join token, and a secret is never beside a public record.
func TestEnrollFormats(t *testing.T) {
	dir := t.TempDir()
	ca := writeTestFile(t, dir, "ca.crt", string(certtest.NewCA(t, "ca").PEM))
	userDataFile, _ := writeUserData(t, dir)
	siteFile := writeTestFile(t, dir, "site.yaml", siteContent)
	for format, file := range map[string]string{
		"cloud-init": "worker-7.cloud-init.yaml", "kickstart": "worker-7.ks",
		"dir": "worker-7.token", "ansible": "worker-7.sh",
	} {
		out := filepath.Join(dir, format)
		args := []string{
			"enroll", "--offline", "workers", "worker-7=192.0.2.7", "--ca", ca, "--output-dir", out, "--format", format,
			"--embed-user-data", userDataFile,
		}
		if format != "dir" {
			args = append(args, "--site-config", siteFile)
		}
		got := runCommandLine(t, args...)
		path := filepath.Join(out, "tokens", file)
		if got.Code != report.Success || !strings.Contains(got.Out, path) {
			t.Errorf("%s: code %d, %s%s", format, got.Code, got.Out, got.Err)
			continue
		}
		content := string(mustReadFile(t, path))
		if format != "dir" && (!strings.Contains(content, "baseurl=https://packages.example.com\n") ||
			!strings.Contains(got.Out, "each host must already have kubelet,")) {
			t.Errorf("%s: no repository, or no note:\n%s\n%s", format, content, got.Out)
		}
		if !strings.Contains(content, "kind: JoinToken") || !strings.Contains(content, "privateKey: |") {
			t.Errorf("%s: the file contains no join token:\n%s", format, content)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", format, info.Mode(), err)
		}
		public := string(mustReadFile(t, filepath.Join(out, "enrollments", "worker-7.yaml")))
		if format == "ansible" {
			public += string(mustReadFile(t, filepath.Join(out, "inventory.yaml")))
			if !strings.Contains(public, "    worker-7:\n      ansible_host: 192.0.2.7\n") {
				t.Errorf("the inventory is:\n%s", public)
			}
		}
		if strings.Contains(public, "PRIVATE") || strings.Contains(public, "ignition") {
			t.Errorf("%s: a public file contains a secret:\n%s", format, public)
		}
	}
}

// One file for all hosts contains their join tokens. The files of a host other than its join token are not written.
func TestEnrollOneFile(t *testing.T) {
	dir := t.TempDir()
	userDataFile, _ := writeUserData(t, dir)
	siteFile, path := writeTestFile(t, dir, "site.yaml", siteContent), filepath.Join(dir, "rack.ks")
	nodes := writeTestFile(t, dir, "nodes", "worker-1 serial=ABC-1\nworker-2 192.0.2.2\n")
	args := offlineCommand(t, dir, "--embed-user-data", userDataFile, "--site-config", siteFile, "--format", "kickstart",
		"--one-file", path)
	got := runCommandLine(t, append(args, "-f", nodes)...)
	content, tokens := string(mustReadFile(t, path)), filepath.Join(dir, "out", "tokens")
	for name, condition := range map[string]string{
		"worker-1": "if is ABC-1; then\n", "worker-2": "elif is 192.0.2.2; then\n",
	} {
		token := mustReadFile(t, filepath.Join(tokens, name+".token"))
		if !strings.Contains(content, condition+"name="+name+"\nfile 0600 /etc/hcp-node-agent/node.token <<'END_OF_FILE'\n"+
			string(token)) || exists(filepath.Join(tokens, name+".ks")) {
			t.Errorf("%s:\n%s", name, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || got.Code != report.Success ||
		!strings.Contains(unwrap(got.Out), "# append to the kickstart file of each host "+path+", a secret") {
		t.Errorf("%v, %+v", err, got)
	}
	for line, want := range map[string]string{
		"worker-3":                            "node worker-3 has neither an address nor a serial number",
		"worker-3=192.0.2.0/24":               "node worker-3 has neither an address nor a serial number",
		"worker-3=serial=A worker-4=serial=A": "worker-3 and worker-4 have the same serial number A",
		"worker-3=serial=$(reboot)":           "serial number \"$(reboot)\": must consist of",
		"worker-3=192.0.2.3 --format ansible": "--one-file requires --format cloud-init or kickstart",
	} {
		if got := runCommandLine(t, append(args, strings.Fields(line)...)...); got.Code != report.Usage ||
			!strings.Contains(got.Err, want) || exists(filepath.Join(tokens, "worker-3.token")) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
