// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const adminKubeconfig = `{apiVersion: v1, kind: Config, current-context: c,
  contexts: [{name: c, context: {cluster: c, user: u}}],
  clusters: [{name: c, cluster: {server: "https://api.example.com:6443"CLUSTER}}], users: [{name: u, user: {USER}}]}`

func TestParseKubeconfig(t *testing.T) {
	tests := map[string]struct{ cluster, user, want string }{
		"token": {"", "token: t", ""},
		"runs programs": {
			"",
			"exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/false, interactiveMode: Never}",
			"runs a command",
		},
		"unverified": {", insecure-skip-tls-verify: true", "token: t", "does not verify the server"},
	}
	for name, test := range tests {
		content := strings.NewReplacer("CLUSTER", test.cluster, "USER", test.user).Replace(adminKubeconfig)
		_, err := ParseKubeconfig([]byte(content))
		if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: ParseKubeconfig() = %v, want %q", name, err, test.want)
		}
		if err != nil && (report.CodeOf(err) != report.Usage || report.RemedyOf(err) == "") {
			t.Errorf("%s: code %d, remedy %q", name, report.CodeOf(err), report.RemedyOf(err))
		}
	}
	if _, err := ParseKubeconfig([]byte("{")); report.CodeOf(err) != report.Usage {
		t.Errorf("ParseKubeconfig(rubbish) = %v", err)
	}
}
