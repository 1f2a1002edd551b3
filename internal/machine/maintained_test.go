// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestIsMaintained(t *testing.T) {
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	const (
		pullSecret = "/var/lib/kubelet/config.json" //nolint:gosec // a path
		clientCA   = "/etc/kubernetes/kubelet-ca.crt"
		kubeconfig = "/etc/kubernetes/kubeconfig"
		registryCA = "/etc/docker/certs.d/registry.example.com/ca.crt"
		trustedCA  = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
		annotated  = "/etc/machine-config-daemon/node-annotations.json"
		ca         = "a CA"
		config     = "a kubeconfig"
	)
	for _, test := range []struct {
		target, content    string
		hosted, standalone bool
	}{
		{pullSecret, `{"auths":{"quay.io":{"auth":"YTpi"}}}`, true, true},
		{pullSecret, `{"auths":{"quay.io":{"auth":"YTpi"},"r.example.com":{"username":"a"}}}`, true, true},
		{pullSecret, `{"auths":{"quay.io":{}}}`, false, false},
		{pullSecret, `{"auths":{}}`, false, false},
		{pullSecret, `{"auths":{"quay.io":{"auth":"YTpi"}`, false, false}, // truncated
		{pullSecret, "", false, false},
		{pullSecret + ".d/x", `{"auths":{"quay.io":{"auth":"YTpi"}}}`, false, false},
		{"/etc/mco/internal-registry-pull-secret.json", `{"auths":{"quay.io":{"auth":"YTpi"}}}`, false, true},
		{clientCA, ca, false, true},
		{clientCA, "no CA", false, false},
		{registryCA, ca, false, true},
		{trustedCA, ca, false, true},
		{"/etc/pki/ca-trust/source/anchors/own.crt", ca, false, false},
		{kubeconfig, config, false, true},
		{kubeconfig, "clusters: []\n", false, false},
		{annotated, "", false, true},
		{annotated, "{}", false, false},
		{"/etc/crio/crio.conf.d/00-default", "x", false, false},
	} {
		content := []byte(test.content)
		switch test.content {
		case ca:
			content = certtest.NewCA(t, "ca").PEM
		case config:
			content = fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: a\n"+
				"clusters: [{name: a, cluster: {server: 'https://api.example.com', certificate-authority-data: %s}}]\n"+
				"users: [{name: a, user: {token: b}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n",
				base64.StdEncoding.EncodeToString(certtest.NewCA(t, "ca").PEM))
		case "":
			content = nil
		}
		if got := isMaintained(tree, test.target, content); got != test.hosted {
			t.Errorf("hosted: %s with %q: %t", test.target, test.content, got)
		}
		marker := filepath.Join(root, daemonConfigPath)
		if err := os.MkdirAll(filepath.Dir(marker), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(marker, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := isMaintained(tree, test.target, content); got != test.standalone {
			t.Errorf("standalone: %s with %q: %t", test.target, test.content, got)
		}
		if err := os.Remove(marker); err != nil {
			t.Fatal(err)
		}
	}
}
