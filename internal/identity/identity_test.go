// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// testdata/kubeconfig was written by kubelet's own
// writeKubeconfigFromBootstrapping (v1.34.2).
func TestKubeconfigMatchesKubelet(t *testing.T) {
	want, err := os.ReadFile("testdata/kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	cluster := kube.Cluster{
		Server: "https://api.demo.example.com:6443",
		CA:     []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
	}
	got, err := encodeKubeconfig(cluster, "/var/lib/kubelet/pki/kubelet-client-current.pem")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("kubeconfig differs (-want +got):\n%s", diff)
	}
}

func TestIdentityCheck(t *testing.T) {
	const server = "https://api.example.com:6443"
	ca, foreign := certtest.NewCA(t, "ca"), certtest.NewCA(t, "foreign")
	key := certtest.NewKey(t)
	good := ca.Issue(t, key, nodeCertificate("worker-1"))
	old := nodeCertificate("worker-1")
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	tests := map[string]struct {
		cluster kube.Cluster
		pair    []byte
		content string // of the kubeconfig; "" for kubelet's own
		want    State
		refused string
	}{
		"valid": {cluster: kube.Cluster{Server: server, CA: ca.PEM}, pair: good, want: Valid},
		"expired": {
			cluster: kube.Cluster{Server: server, CA: ca.PEM},
			pair:    ca.Issue(t, key, old), want: Expired,
		},
		"certificate missing": {cluster: kube.Cluster{Server: server, CA: ca.PEM}, want: Missing},
		"other cluster": {
			cluster: kube.Cluster{Server: "https://api.other:6443", CA: ca.PEM},
			pair:    good, refused: "https://api.other:6443",
		},
		"other cluster, no certificate": {
			cluster: kube.Cluster{Server: "https://api.other:6443", CA: ca.PEM},
			refused: "https://api.other:6443",
		},
		"same name, other cluster": {
			cluster: kube.Cluster{Server: server, CA: foreign.PEM}, pair: good,
			refused: "reinstalled",
		},
		"other node": {
			cluster: kube.Cluster{Server: server, CA: ca.PEM},
			pair:    ca.Issue(t, key, nodeCertificate("worker-2")), refused: "worker-2",
		},
		"certificate is rubbish": {
			cluster: kube.Cluster{Server: server, CA: ca.PEM}, pair: []byte("rubbish"),
			refused: "client certificate cannot be read",
		},
		"kubeconfig is rubbish": {content: "{", refused: "cannot be read"},
		"kubeconfig of the administrator": {
			content: strings.ReplaceAll(execKubeconfig, "SERVER", server),
			refused: "runs a command",
		},
		"kubeconfig verifies no server": {
			content: strings.ReplaceAll(insecureKubeconfig, "SERVER", server),
			refused: "contains no CA",
		},
		"no kubeconfig, but certificate": {pair: good, want: Missing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			i := &Identity{
				Dir:        dir,
				Kubeconfig: filepath.Join(dir, "kubeconfig"),
				NodeName:   "worker-1",
				Server:     server,
				CA:         ca.PEM,
			}
			if test.pair != nil {
				writeFile(t, i.clientCertificatePath(),
					append(append([]byte{}, test.pair...), certtest.KeyPEM(t, key)...))
			}
			content := []byte(test.content)
			if test.cluster.Server != "" {
				var err error
				if content, err = encodeKubeconfig(test.cluster, i.clientCertificatePath()); err != nil {
					t.Fatal(err)
				}
			}
			if len(content) > 0 {
				writeFile(t, i.Kubeconfig, content)
			}
			got, err := i.Check()
			if test.refused != "" {
				if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.refused) ||
					report.RemedyOf(err) == "" {
					t.Errorf("Check() error = %v (code %d), want a refusal with %q", err, report.CodeOf(err),
						test.refused)
				}
				// Nothing that removes the node is to be pasted if the host was only renamed.
				command := report.RemedyOf(err).Command()
				if isRenamed := name == "other node"; isRenamed != (command == "hostnamectl set-hostname worker-2") ||
					isRenamed == strings.Contains(command, "leave") {
					t.Errorf("the command of the remedy is %q", command)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("Check() = %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

const execKubeconfig = `{apiVersion: v1, kind: Config, current-context: c,
  contexts: [{name: c, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: SERVER}}],
  users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/false,
    interactiveMode: Never}}}]}`

const insecureKubeconfig = `{apiVersion: v1, kind: Config, current-context: c,
  contexts: [{name: c, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: SERVER, insecure-skip-tls-verify: true}}],
  users: [{name: u, user: {token: t}}]}`

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
