// SPDX-License-Identifier: Apache-2.0

// Package ignitiontest contains what the tests of payloads share.
package ignitiontest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// RealPayloads returns the paths of payloads and user data that a cluster has served. They are
// not part of the project; without them, the test is skipped.
func RealPayloads(t *testing.T, pattern string) []string {
	t.Helper()
	var files []string
	for _, up := range []string{"../../../", "../../../../"} { // of package ignition and of those below it
		found, err := filepath.Glob(up + "shared/payloads/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no real payloads are laid beside the project")
	}
	return files
}

// LoadRealPayload parses a real payload. If the payload refers to a server that exists only in its
// cluster, it checks the error and parses the other parts.
func LoadRealPayload(t *testing.T, name string) *ignition.Payload {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ignition.LoadPayload(raw)
	if err != nil {
		reporttest.CheckFailure(t, err, report.Usage,
			"the config refers to resources on the network, which are not fetched offline: file /etc/example.d/remote.txt at "+
				"https://")
		if p, err = ignition.LoadPayload(withoutRemote(t, raw)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// withoutRemote returns the payload without files whose content must be fetched.
func withoutRemote(t *testing.T, raw []byte) []byte {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	storage := document["storage"].(map[string]any)
	storage["files"] = slices.DeleteFunc(storage["files"].([]any), func(file any) bool {
		contents, _ := file.(map[string]any)["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		return strings.HasPrefix(source, "https:")
	})
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Override returns the payload with configs merged over it.
func Override(t *testing.T, base string, configs ...string) *ignition.Payload {
	t.Helper()
	p, err := ignition.LoadPayload([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	raw := make([][]byte, 0, len(configs))
	for _, config := range configs {
		raw = append(raw, []byte(config))
	}
	merged, err := p.Override(raw...)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

// DefaultProxyPod returns the pod that HyperShift creates instead of HAProxy if the cluster has
// a proxy (generateKubernetesDefaultProxyPod). It strips the scheme of the proxy's URL.
func DefaultProxyPod(proxy string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    k8s-app: kube-apiserver-proxy\n" +
		"  name: kube-apiserver-proxy\n  namespace: kube-system\n" +
		"spec:\n  containers:\n  - command:\n    - control-plane-operator\n    - kubernetes-default-proxy\n" +
		"    - --listen-addr=172.20.0.1:6443\n" +
		"    - --proxy-addr=" + proxy +
		"\n    - --apiserver-addr=api.example.com:6443\n    image: " +
		"registry.example.com:5000/cpo:4.18@sha256:0123456789abcdef\n"
}

// InlineContent returns a resource with content as a data URL.
func InlineContent(content string) string {
	return `{"source":"data:;base64,` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}`
}

// OverriddenPayload is a payload with each kind of entry.
const OverriddenPayload = `{"ignition":{"version":"3.2.0"},
	"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["a"]}]},
	"storage":{
		"directories":[{"path":"/etc/own.d","mode":448}],
		"files":[
			{"path":"/etc/a","mode":420,"overwrite":true,"contents":{"source":"data:,base"}},
			{"path":"/etc/b","mode":420,"contents":{"source":"data:,base"}},
			{"path":"/etc/c","contents":{"source":"data:,base"}}]},
	"systemd":{"units":[
		{"name":"a.service","enabled":true,"contents":"[Install]\nWantedBy=x.target\n","dropins":[{"name":"1.conf","contents":"[Unit]\n"}]},
		{"name":"b.service","contents":"[Service]\n"}]}}`
