// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bundle"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// canaries returns realistic secrets of a node by their location. The locations
// mark them as secrets; the output of programs does not.
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
		"approver":          "approver-canary-13",
		"user data's proxy": "stub-canary-14",
		"override":          "override-canary-15",
		"token file":        "token-file-canary-16",
	}
}

// canaryHost creates a tree with a secret in every location where a node has one.
func canaryHost(t *testing.T) string {
	t.Helper()
	c := canaries()
	b64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	pem := func(line string) string {
		return "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIFoXcm9sbGluZ0Fyb3VuZFRoZVdvcmxkQWdhaW5BbmRBZ2Fpbg\n" + line + "\n-----END EC PRIVATE KEY-----\n"
	}
	inJSON, err := json.Marshal(c["identity"]) // with \u0026, as some encoders write it
	if err != nil {
		t.Fatal(err)
	}
	pull := `{"auths":{"quay.io":{"auth":"` + b64("puller:"+c["pull secret"]) + `"},"other":{"identitytoken":` + string(inJSON) + `}}}`
	userData := `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://ignition.example.com/ignition","httpHeaders":[` +
		`{"name":"NodePool","value":"clusters/demo"},{"name":"Authorization","value":"Bearer ` + c["token"] + `"}]}]},` +
		`"proxy":{"httpsProxy":"http://me:` + c["user data's proxy"] + `@proxy:3128"}}}`
	payload := `{"ignition":{"version":"3.2.0"},"storage":{"files":[` +
		`{"path":"/etc/kubernetes/kubeconfig","mode":384,"contents":{"source":"data:;base64,` + b64("users:\n- user:\n    token: "+c["payload"]+"\n") + `"}}]}}`
	override := `{"ignition":{"version":"3.2.0"},"storage":{"files":[` +
		`{"path":"/etc/app.conf","mode":384,"contents":{"source":"data:,password%3D` + c["override"] + `"}}]}}`
	root := t.TempDir()
	for name, content := range map[string]string{
		"/var/lib/hcp-node-agent/join.json":                      `{"apiVersion":"node.hcp-agent.io/v1alpha1","kind":"JoinState","started":"2026-01-02T03:04:05Z","nodeName":"worker-7"}`,
		"/var/lib/hcp-node-agent/user-data.ign":                  userData,
		"/var/lib/hcp-node-agent/payload.ign":                    payload,
		"/var/lib/hcp-node-agent/overrides.json":                 `[{"name":"site.ign","config":"` + b64(override) + `"}]`,
		"/var/lib/hcp-node-agent/worker-7.token":                 "kind: JoinToken\nprivateKey: " + c["join token"] + "\n",
		"/var/lib/hcp-node-agent/keys/kubelet-client.key":        pem(c["pending key"]),
		"/var/lib/kubelet/config.json":                           pull,
		"/var/lib/kubelet/pki/kubelet-client-2026.pem":           pem(c["key"]),
		"/var/lib/kubelet/kubeconfig":                            "users:\n- user:\n    client-key-data: " + b64(pem(c["client key"])) + "\n",
		"/etc/NetworkManager/system-connections/a.nmconnection":  "[connection]\nid=a\n[wifi-security]\npsk=" + c["wifi"] + "\n[vpn-secrets]\nXauth=" + c["VPN"] + "\n",
		"/etc/systemd/system/kubelet.service":                    "[Service]\nExecStart=/usr/bin/kubelet --token=" + c["drop-in"] + "\n",
		"/etc/systemd/system/kubelet.service.d/20-proxy.conf":    "[Service]\nEnvironment=HTTPS_PROXY=http://me:" + url.PathEscape(c["proxy"]) + "@proxy:3128 API_TOKEN=" + c["drop-in"] + "\n",
		"/etc/systemd/system/crio.service.d/10-environment.conf": "[Service]\nEnvironment=\"HTTP_PROXY=http://me:" + url.PathEscape(c["proxy"]) + "@proxy:3128\"\n",
		"/root/approver.kubeconfig":                              "users:\n- user:\n    token: " + c["approver"] + "\n",
		"/root/token":                                            c["token file"] + "\n",
		"/etc/kubernetes/cni/net.d/10-ovn.conf":                  "{}",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// secretsOutput returns the output of a program that prints all secrets in every
// form, without any context that marks them as secrets.
func secretsOutput() string {
	var out strings.Builder
	for _, secret := range canaries() {
		for _, form := range encodings(secret) {
			out.WriteString("seen " + form + " end\n")
		}
		for _, before := range []string{"", "b", "be"} {
			text := []byte(before + secret + "after")
			out.WriteString(base64.StdEncoding.EncodeToString(text) + " " + base64.URLEncoding.EncodeToString(text) + "\n")
		}
	}
	return out.String()
}

// encodings returns the forms of a secret except base64.
func encodings(secret string) []string {
	inJSON, _ := json.Marshal(secret) // encoding a string never fails
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(inJSON), `"`)}
}

// searchForms returns the forms to search for, including the base64 encoding of the
// secret within a longer text.
func searchForms(secret string) []string {
	all := encodings(secret)
	for _, before := range []string{"", "b", "be"} {
		encoded := base64.StdEncoding.EncodeToString([]byte(before + secret + "after"))
		first := 0
		if before != "" {
			first = 4
		}
		core := encoded[first : (len(before)+len(secret))/3*4]
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	return all
}

// leakedSecrets returns the canaries that a text contains in any form.
func leakedSecrets(text string) []string {
	var found []string
	for place, secret := range canaries() {
		for _, form := range searchForms(secret) {
			if strings.Contains(text, form) {
				found = append(found, place+" as "+form)
			}
		}
	}
	return found
}

// No piece of a bundle may contain a secret of the host in any form.
func TestBundleContainsNoSecret(t *testing.T) {
	root := canaryHost(t)
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	g := collector{tree: tree, dir: "/var/lib/hcp-node-agent", limits: bundle.DefaultLimits()}
	g.run = func(_ context.Context, _ int, name string, args ...string) ([]byte, bool, error) {
		if name == "rpm" {
			return nil, false, &command.Error{Argv: []string{name}, Code: 1, Stderr: secretsOutput()}
		}
		return []byte(name + " " + strings.Join(args, " ") + "\n" + secretsOutput()), name == "journalctl", nil
	}
	d := &diagnostics{Builder: &plan.Builder{Dir: filepath.Join(root, g.dir), Machine: &machine.Machine{Tree: tree}}, now: time.Now()}
	if d.State, err = joinstate.Read(d.Dir); err != nil {
		t.Fatal(err)
	}
	d.State.Config.ApproveWith, d.State.Config.TokenFile = "/root/approver.kubeconfig", "/root/token"
	if d.Inputs.Overrides, err = inputs.SavedOverrides(d.Dir); err != nil {
		t.Fatal(err)
	}
	document := Report{TypeMeta: report.Meta("DoctorReport"), Hostname: "worker-7", Findings: []report.Finding{{Check: "journal", Severity: report.SeverityNote, Message: secretsOutput()}}}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	made, err := d.writeBundle(t.Context(), g, Options{Bundle: file, Version: "test"}, document)
	if err != nil {
		t.Fatal(err)
	}
	pieces := unpack(t, file)
	for name, content := range pieces {
		for _, canary := range leakedSecrets(name + "\n" + content) {
			t.Errorf("%s has %s", name, canary)
		}
	}
	// Without the mask, every secret must be found.
	plain := ""
	for _, piece := range append(g.pieces(), reportPieces(document)...) {
		if content, err := piece.Get(t.Context()); err == nil {
			plain += string(content.Bytes)
		}
	}
	if n, all := len(leakedSecrets(plain)), len(leakedSecrets(secretsOutput())); n < all || all < 5*len(canaries()) {
		t.Errorf("only %d of %d forms would be found", n, all)
	}
	for _, name := range []string{
		"doctor.txt", "doctor.json", "state/join.json", "journal/kubelet.log", "units/etc/systemd/system/kubelet.service",
		"units/etc/systemd/system/kubelet.service.d/20-proxy.conf", "network/profiles/a.nmconnection", "network/cni.txt", bundle.ManifestName,
	} {
		if pieces[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if !strings.Contains(pieces["units/etc/systemd/system/kubelet.service.d/20-proxy.conf"], "HTTPS_PROXY=http://***@proxy:3128 API_TOKEN=***") {
		t.Errorf("a drop-in: %s", pieces["units/etc/systemd/system/kubelet.service.d/20-proxy.conf"])
	}
	checkManifest(t, made, pieces)
}

func checkManifest(t *testing.T, made Bundle, pieces map[string]string) {
	t.Helper()
	var manifest bundle.Manifest
	if err := json.Unmarshal([]byte(pieces[bundle.ManifestName]), &manifest); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bundle.Entry{}
	for _, entry := range manifest.Files {
		if content, there := pieces[entry.Name]; there != (entry.Missing == "") || len(content) != entry.Bytes {
			t.Errorf("%+v, and there are %d bytes", entry, len(content))
		}
		listed[entry.Name] = entry
	}
	if len(pieces) >= len(listed)+2 || len(manifest.Files) != len(made.Files) || manifest.Kind != "BundleManifest" || manifest.Version != "test" {
		t.Errorf("%d pieces, %d of them listed: %+v", len(pieces), len(listed), manifest.TypeMeta)
	}
	if entry := listed["journal/kubelet.log"]; !entry.Masked || !entry.Truncated || !strings.HasPrefix(entry.Source, "journalctl ") {
		t.Errorf("%+v", entry)
	}
	if entry := listed["system/packages.txt"]; !strings.Contains(entry.Missing, "exited with status 1") {
		t.Errorf("%+v", entry)
	}
}

// unpack returns the contents of all files of a bundle by name.
func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	pieces := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return pieces
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		pieces[header.Name] = string(content)
	}
}
