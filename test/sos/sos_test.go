// SPDX-License-Identifier: Apache-2.0

// Package sos tests the sos plugin with the real sos.
package sos

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

// canaries returns realistic secrets of a node by their location.
func canaries() map[string]string {
	return map[string]string{
		"token":             "dG9rZW4tY2FuYXJ5LTAwMDE=",
		"pull secret":       "pull/canary+pw&2",
		"identity":          "identity&token<canary-3",
		"key":               "keyLine/Canary+4=",
		"pending key":       "keyLine/Canary+5=",
		"client key":        "keyLine/Canary+6=",
		"wifi":              "psk canary 7",
		"VPN":               "vpn-canary-8",
		"proxy":             "proxy:canary@9",
		"drop-in":           "environment-canary-10",
		"join token":        "joinTokenCanary11joinTokenCanary11joinTokenAA=",
		"payload":           "payload-canary-12",
		"bootstrap token":   "0canary013canary",
		"user data's proxy": "stub-canary-14",
		"override":          "override-canary-15",
		"token file":        "token-file-canary-16",
		"previous content":  "original-canary-17",
		"web token":         "canary18canary18",
	}
}

func encode64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func privateKey(line string) string {
	return "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIFoXcm9sbGluZ0Fyb3VuZFRoZVdvcmxkQWdhaW5BbmRBZ2Fpbg\n" + line +
		"\n-----END EC PRIVATE KEY-----\n"
}

func pullSecret(t *testing.T) string {
	t.Helper()
	c := canaries()
	inJSON, err := json.Marshal(c["identity"]) // with \u0026, as some encoders write it
	if err != nil {
		t.Fatal(err)
	}
	return `{"auths":{"quay.io":{"auth":"` + encode64("puller:"+c["pull secret"]) + `"},` +
		`"other":{"identitytoken":` + string(inJSON) + `}}}`
}

// hostFiles returns the files of a node: those with secrets, and those that belong into the archive.
func hostFiles(t *testing.T) map[string]string {
	t.Helper()
	c := canaries()
	userData := `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://ignition.example.com/ignition",` +
		`"httpHeaders":[{"name":"Authorization","value":"Bearer ` + c["token"] + `"}]}]},` +
		`"proxy":{"httpsProxy":"http://me:` + c["user data's proxy"] + `@proxy:3128"}}}`
	payload := `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig","contents":` +
		`{"source":"data:,token%3A%20` + c["payload"] + `"}}]}}`
	override := `[{"name":"site.ign","config":"password=` + c["override"] + `"}]`
	token := "kind: JoinToken\nprivateKey: " + c["join token"] + "\n"
	kubeconfig := "users:\n- user:\n    client-key-data: " + encode64(privateKey(c["client key"])) + "\n"
	profile := "[wifi-security]\npsk=" + c["wifi"] + "\n[vpn-secrets]\nXauth=" + c["VPN"] + "\n"
	const state = "/var/lib/hcp-node-agent/"
	return map[string]string{
		state + "join.json":                     `{"kind":"JoinState","nodeName":"worker-7"}`,
		state + "software.json":                 `{}`,
		state + "user-data.ign":                 userData,
		state + "payload.ign":                   payload,
		state + "next.json":                     payload,
		state + "replaced.json":                 payload,
		state + "previous.json":                 payload,
		state + "overrides.json":                override,
		state + "token":                         token,
		state + "ledger.log":                    encode64(profile),
		state + "keys/kubelet-client.key":       privateKey(c["pending key"]),
		state + "originals/0001":                c["previous content"],
		"/etc/hcp-node-agent/config.yaml":       "endpoint: https://ignition.example.com\n",
		"/etc/hcp-node-agent/config.d/a.yaml":   "proxy: http://me:" + url.PathEscape(c["proxy"]) + "@proxy:3128\n",
		"/etc/hcp-node-agent/user-data.ign":     userData,
		"/etc/hcp-node-agent/worker-7.token":    token,
		"/etc/hcp-node-agent/config.d/a.token":  c["token file"] + "\n",
		"/etc/kubernetes/kubeconfig":            "users:\n- user:\n    token: " + c["payload"] + "\n",
		"/etc/kubernetes/kubelet.conf":          "kind: KubeletConfiguration\n",
		"/etc/crio/crio.conf.d/10-site.conf":    "[crio.runtime]\ndefault_env = [\"API_TOKEN=" + c["drop-in"] + "\"]\n",
		"/var/lib/kubelet/config.json":          pullSecret(t),
		"/var/lib/kubelet/kubeconfig":           kubeconfig,
		"/var/lib/kubelet/pki/kubelet-2026.pem": privateKey(c["key"]),

		"/etc/NetworkManager/system-connections/a.nmconnection": profile,
	}
}

// commandOutput returns text as programs print it, with secrets in the forms that they have there.
func commandOutput(t *testing.T) string {
	t.Helper()
	c := canaries()
	escaped, err := json.Marshal(pullSecret(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := "http://me:" + url.PathEscape(c["proxy"]) + "@proxy:3128"
	return "before\n7f1d5c6e-0d5a-4b0e-9c58-3f1f6ab2d7c4\n" +
		"# /etc/systemd/system/kubelet.service.d/20-proxy.conf\n[Service]\n" +
		"Environment=HTTPS_PROXY=" + proxy + " API_TOKEN=" + c["drop-in"] + "\n" +
		"Environment=\"HTTP_PROXY=" + proxy + "\" \"DB_PASSWORD=" + c["wifi"] + "\"\n" +
		"ExecStart=/usr/bin/kubelet --token=" + c["drop-in"] + " --auth-token " + c["token file"] + " --v=2\n" +
		"--proxy-addr=me:" + c["user data's proxy"] + "@proxy:3128\n" +
		"Nov 22 10:20:30 worker-7 app[1]: PASSWORD=\"" + c["wifi"] + "\" PASSWORD='" + c["wifi"] + "'\n" +
		"Nov 22 10:20:30 worker-7 kubelet[1]: Authorization: Bearer " + c["token"] + "\n" +
		"Nov 22 10:20:30 worker-7 kubelet[1]: token abcdef." + c["bootstrap token"] + " was refused\n" +
		"Nov 22 10:20:30 worker-7 kubelet[1]: eyJhbGciOi." + c["web token"] + ".abc expired\n" +
		"Nov 22 10:20:30 worker-7 kubelet[1]: err=" + string(escaped) + "\n" +
		"Nov 22 10:20:30 worker-7 crio[1]: " +
		strings.ReplaceAll(strings.TrimSpace(privateKey(c["key"])), "\n", "\nNov 22 10:20:30 worker-7 crio[1]: ") + "\n" +
		pullSecret(t) + "\npsk=" + c["wifi"] + "\nXauth-password = " + c["VPN"] + "\npassword: " + c["override"] + "\n" +
		"image docker://quay.io/a/b:v1@sha256:0123 from https://quay.io/v2/ with tokenFile: /etc/a\nafter\n"
}

// forms returns the forms of a secret to search for, including its base64 encoding within a longer text.
func forms(secret string) []string {
	inJSON, _ := json.Marshal(secret) // encoding a string never fails
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(inJSON), `"`)}
	for _, before := range []string{"", "b", "be"} {
		encoded := encode64(before + secret + "after")
		first := 0
		if before != "" {
			first = 4
		}
		all = append(all, encoded[first:(len(before)+len(secret))/3*4])
	}
	return all
}

// leakedSecrets returns the locations of the canaries that a text contains in any form.
func leakedSecrets(text string) []string {
	var found []string
	for location, secret := range canaries() {
		for _, form := range forms(secret) {
			if strings.Contains(text, form) {
				found = append(found, location)
				break
			}
		}
	}
	return found
}

// sosDirectory returns the directory of sos. It skips the test without sos.
func sosDirectory(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("sos"); err != nil {
		t.Skip("sos is not installed; on Debian: apt-get install sosreport")
	}
	out, err := exec.Command("/usr/bin/python3", "-c", "import os, sos; print(os.path.dirname(sos.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// The archive of the real sos contains no secret of the node, and what a support case needs.
func TestArchiveContainsNoSecret(t *testing.T) {
	sos := sosDirectory(t)
	// Read the plugin in this process, so that a cached result is not used after a change of the plugin.
	plugin, err := os.ReadFile("../../packaging/sos/hcp_node_agent.py")
	if err != nil {
		t.Fatal(err)
	}
	if !mountns.Isolate(t) {
		return
	}
	host, tmp := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(host, "plugins/hcp_node_agent.py"), string(plugin), 0o600)
	plain := ""
	for name, content := range hostFiles(t) {
		writeFile(t, filepath.Join(host, name), content, 0o600)
		plain += content
	}
	text := commandOutput(t)
	writeFile(t, filepath.Join(host, "output"), text, 0o600)
	for _, name := range []string{
		"hcp-node-agent", "journalctl", "systemctl", "ip", "ovs-vsctl", "nmcli", "kubelet", "crio", "openssl",
	} {
		writeFile(t, filepath.Join(host, "bin", name), "#!/bin/sh\ncat "+filepath.Join(host, "output")+"\n", 0o700)
	}
	for dir, over := range map[string]string{
		"/etc": host + "/etc", "/var/lib": host + "/var/lib", "/usr/sbin": host + "/bin",
		sos + "/report/plugins": host + "/plugins",
	} {
		if err := unix.Mount("overlay", dir, "overlay", 0, "lowerdir="+over+":"+dir); err != nil {
			t.Fatalf("mounting over %s: %v", dir, err)
		}
	}
	command := exec.Command("sos", "report", "--batch", "--only-plugins", "hcp_node_agent", "--compression-type", "gzip",
		"--tmp-dir", tmp)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archives, err := filepath.Glob(tmp + "/*.tar.gz")
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives %q, %v", archives, err)
	}
	files := unpack(t, archives[0])
	for name, content := range files {
		if leaked := leakedSecrets(name + "\n" + content); len(leaked) > 0 {
			t.Errorf("%s contains the secrets %q:\n%s", name, leaked, content)
		}
	}
	// Without the plugin's measures, every secret must be found.
	if all := leakedSecrets(plain + text); len(all) != len(canaries()) {
		t.Errorf("only %q would be found", all)
	}
	for _, name := range []string{
		"var/lib/hcp-node-agent/join.json", "var/lib/hcp-node-agent/software.json", "etc/hcp-node-agent/config.yaml",
		"etc/hcp-node-agent/config.d/a.yaml", "etc/kubernetes/kubelet.conf", "etc/crio/crio.conf.d/10-site.conf",
	} {
		if files[name] == "" {
			t.Errorf("the archive does not contain %s", name)
		}
	}
	const directory = "sos_commands/hcp_node_agent/"
	for _, name := range []string{
		"doctor.json", "status.json", "changes.json", "config_show",
		"journalctl_--no-pager_--unit_kubelet_--boot_--lines_5000",
		"nmcli_connection_show_7f1d5c6e-0d5a-4b0e-9c58-3f1f6ab2d7c4",
	} {
		content := files[directory+name]
		if !strings.HasPrefix(content, "before\n") || !strings.HasSuffix(strings.TrimSpace(content), "\nafter") {
			t.Errorf("%s: %q", name, content)
		}
		for _, want := range []string{
			"Environment=HTTPS_PROXY=http://***@proxy:3128 API_TOKEN=***\n", "--token=*** --auth-token *** --v=2\n",
			"Environment=\"HTTP_PROXY=http://***@proxy:3128\" \"DB_PASSWORD=***\"\n",
			"PASSWORD=*** PASSWORD=***\n", "\npsk=***\n",
			"image docker://quay.io/a/b:v1@sha256:0123 from https://quay.io/v2/ with tokenFile: /etc/a\n",
		} {
			if !strings.Contains(content, want) {
				t.Errorf("%s does not contain %q:\n%s", name, want, content)
			}
		}
	}
}

func writeFile(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
