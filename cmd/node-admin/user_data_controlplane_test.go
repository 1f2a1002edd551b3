// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func TestControlPlaneUserData(t *testing.T) {
	m := startManagementCluster(t)
	withoutKubeconfig(t)

	// before it is a management cluster
	hosted := m.userDataCommand(t, m.kubeconfig(t, "", nil), "workers")
	const noManagement = "hcp-node-admin user-data: https://ADDRESS is not a management cluster: it does not serve " +
		"nodepools.hypershift.openshift.io; the kubeconfig may be that of the hosted cluster\n# remedy: select the " +
		"management cluster with --context or --kubeconfig\noc --kubeconfig FILE config get-contexts\n"
	if hosted.Code != report.Refused || variable(hosted.Err) != noManagement {
		t.Errorf("code %d, %s", hosted.Code, variable(hosted.Err))
	}

	m.createObjects(t)
	reader, lister := m.kubeconfig(t, "reader", nil), m.kubeconfig(t, "lister", nil)
	t.Run("success", func(t *testing.T) { m.checkSuccess(t, reader) })
	t.Run("other formats", func(t *testing.T) { m.checkStandardOutput(t, reader) })
	t.Run("failures", func(t *testing.T) { m.checkFailures(t, reader, lister) })
	t.Run("credential of a command", func(t *testing.T) {
		content, err := os.ReadFile(reader)
		if err != nil {
			t.Fatal(err)
		}
		token := regexp.MustCompile(`token: (\S+)`).FindStringSubmatch(string(content))[1]
		kubeconfig := m.kubeconfig(t, "", func(_ *api.Cluster, user *api.AuthInfo) {
			*user = api.AuthInfo{Exec: &api.ExecConfig{
				APIVersion: "client.authentication.k8s.io/v1", Command: "echo", InteractiveMode: api.NeverExecInteractiveMode,
				Args: []string{`{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", ` +
					`"status": {"token": "` + token + `"}}`},
			}}
		})
		if got := m.userDataCommand(t, kubeconfig, "workers"); got.Code != report.Success {
			t.Errorf("%+v", got)
		}
	})
	t.Run("completion", func(t *testing.T) {
		for kubeconfig, want := range map[string]string{lister: "aws\nworkers\n:4\n", reader: ":4\n"} {
			got := runCommandLine(t, "__complete", "user-data", "--kubeconfig", kubeconfig, "-n", "clusters", "")
			if got.Out != want {
				t.Errorf("completions %q, want %q", got.Out, want)
			}
		}
	})
	t.Run("paused", func(t *testing.T) { m.checkPaused(t, reader) })
	t.Run("states", func(t *testing.T) { m.checkStates(t, reader) })
}

// checkSuccess runs the command with the documented permissions only.
func (m *managementCluster) checkSuccess(t *testing.T, kubeconfig string) {
	t.Helper()
	before := len(m.server.Requests())
	got := m.userDataCommand(t, kubeconfig, "workers")
	const want = `NodePool clusters/workers of HostedCluster hosted-a, release 4.20.3
  note     reached              ReachedIgnitionEndpoint is False, as usual before the first host has joined
  ok       endpoint             ADDRESS serves the payload for this token
user-data.ign contains a token, which is valid until TIME (10h59m)

# copy the file, a secret, to each host; there:
hcp-node-agent join --user-data user-data.ign
`
	if got.Code != report.Success || variable(got.Out) != want || got.Err != "" {
		t.Errorf("code %d, %s%s", got.Code, variable(got.Out), got.Err)
	}
	info, err := os.Stat("user-data.ign")
	if err != nil || info.Mode() != 0o600 || !bytes.Equal(mustReadFile(t, "user-data.ign"), m.userData) {
		t.Errorf("%v, %v", info, err)
	}
	requests := m.server.Requests()[before:]
	if len(requests) != 1 || requests[0].Method != http.MethodGet || requests[0].Header.Get("NodePool") != "" {
		t.Errorf("the ignition server received %v", requests)
	}
	again := runCommandLine(t, "user-data", "workers", "--kubeconfig", kubeconfig, "--skip-endpoint-check", "-o", "json")
	document := clitest.DecodeDocument(t, again.Out)
	if again.Code != report.Success || document["file"] != "user-data.ign" || document["nodePool"] != "clusters/workers" ||
		document["expires"] == nil || len(m.server.Requests()) != before+1 {
		t.Errorf("again: %+v", again)
	}
	if wrong := admin().ValidateDocuments(t, again.Out); wrong != "" {
		t.Error(wrong)
	}
	for _, output := range []string{got.Out, got.Err, again.Out, again.Err} {
		if strings.Contains(output, ignitionToken) || strings.Contains(output,
			base64.StdEncoding.EncodeToString([]byte(ignitionToken))) {
			t.Errorf("the token was printed: %s", output)
		}
	}
	if err := os.WriteFile("user-data.ign", []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	exists := runCommandLine(t, "user-data", "workers", "--kubeconfig", kubeconfig)
	if exists.Code != report.Usage || !strings.Contains(exists.Err, "user-data.ign exists with another content") {
		t.Errorf("existing file: %+v", exists)
	}
	replaced := runCommandLine(t, "user-data", "workers", "--kubeconfig", kubeconfig, "--overwrite")
	if replaced.Code != report.Success || !bytes.Equal(mustReadFile(t, "user-data.ign"), m.userData) {
		t.Errorf("--overwrite: %+v", replaced)
	}
}

func (m *managementCluster) checkStandardOutput(t *testing.T, kubeconfig string) {
	t.Helper()
	got := m.userDataCommand(t, kubeconfig, "workers", "--output-file", "-")
	if got.Code != report.Success || got.Out != string(m.userData) ||
		!strings.Contains(got.Err, "\nthe user data contains a token, which is valid until ") {
		t.Errorf("standard output: %+v", got)
	}
}

func (m *managementCluster) checkFailures(t *testing.T, reader, lister string) {
	t.Helper()
	unreachable := m.kubeconfig(t, "", func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.Server = "https://127.0.0.1:1"
	})
	rejected := m.kubeconfig(t, "", func(_ *api.Cluster, user *api.AuthInfo) { *user = api.AuthInfo{Token: "none"} })
	for name, test := range map[string]struct {
		kubeconfig string
		args       string
		code       report.Code
		want       string
	}{
		"no such NodePool": {lister, "none", report.Usage, "NodePool none does not exist in namespace clusters, which has: " +
			"aws, workers\n# remedy: select the namespace with --namespace\noc --kubeconfig FILE get nodepools -A\n"},
		"no such NodePool, without the right to list": {reader, "none", report.Usage, "NodePool none does not exist in " +
			"namespace clusters\n"},
		"no NodePools": {m.kubeconfig(t, "", nil), "workers -n default", report.Usage, "NodePool workers does not exist: " +
			"namespace default has no NodePools\n"},
		"no right for NodePools": {reader, "workers -n default", report.CredentialRefused, "getting " +
			"NodePool default/workers on the management cluster https://ADDRESS: no permission: "},
		"no right for Secrets": {lister, "workers", report.CredentialRefused, "\noc --kubeconfig FILE -n clusters-hosted-a " +
			"create role hcp-node-get-secrets --verb=get --resource=secrets\noc --kubeconfig FILE -n clusters-hosted-a create "},
		"rejected credential": {rejected, "workers", report.CredentialRefused, "the credential of the kubeconfig is " +
			"rejected (HTTP 401)\n# remedy: log in to the management cluster again"},
		"unreachable": {unreachable, "workers", report.Failed, "ADDRESS refused the connection"},
		"platform": {reader, "aws", report.Refused, "hcp-node-admin user-data: NodePool clusters/aws: the platform is AWS: " +
			"HyperShift itself creates the nodes."},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.userDataCommand(t, test.kubeconfig, strings.Fields(test.args)...)
			if got.Code != test.code || !strings.Contains(variable(got.Err), test.want) || got.Out != "" {
				t.Errorf("code %d, %s%s", got.Code, variable(got.Err), got.Out)
			}
			if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
				t.Errorf("files were written: %v, %v", files, err)
			}
		})
	}
}

func (m *managementCluster) setStatus(t *testing.T, status string) {
	t.Helper()
	if err := m.PatchStatus(t.Context(), "nodepool", "workers", status); err != nil {
		t.Fatal(err)
	}
}

// checkPaused changes the release of a paused NodePool: HyperShift serves the payload of the former one.
func (m *managementCluster) checkPaused(t *testing.T, kubeconfig string) {
	t.Helper()
	m.run(t, "", "-n", "clusters", "patch", "nodepool", "workers", "--type=merge", "-p",
		`{"spec": {"pausedUntil": "true", "release": {"image": "example.com/ocp:4.20.4"}}}`)
	const missing = `"status": "False", "reason": "NotFound", "message": "Secret token-workers-0123abcd not found",
		"lastTransitionTime": "2026-01-02T00:00:00Z"}`
	m.setStatus(t, `{"conditions": [{"type": "ReconciliationActive", "status": "False", "reason": "ReconciliationPaused",
		"message": "Reconciliation paused until field removed", "lastTransitionTime": "2026-01-02T00:00:00Z"},
		{"type": "ValidGeneratedPayload", `+missing+`, {"type": "ReachedIgnitionEndpoint", `+missing+`]}`)
	got := m.userDataCommand(t, kubeconfig, "workers")
	if got.Code != report.Success || !strings.Contains(got.Out, "the user data is that of the former configuration") ||
		!bytes.Equal(mustReadFile(t, "user-data.ign"), m.userData) {
		t.Errorf("%+v", got)
	}
	m.run(t, "", "-n", "clusters", "patch", "nodepool", "workers", "--type=merge", "-p", `{"spec": {"pausedUntil": null}}`)
	if err := m.ApplyNodePool(t.Context(), m.state()); err != nil {
		t.Fatal(err)
	}
}

// checkStates changes the objects as HyperShift does.
func (m *managementCluster) checkStates(t *testing.T, kubeconfig string) {
	t.Helper()
	m.setStatus(t, `{"version": "4.21.0", "conditions": [{"type": "ValidGeneratedPayload",
		"status": "", "reason": "InvalidConfig", "message": "wrong", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`)
	got := m.userDataCommand(t, kubeconfig, "workers", "-o", "json")
	document := clitest.DecodeDocument(t, got.Out)
	causes, _ := document["causes"].([]any)
	if got.Code != report.Refused || len(causes) != 2 || document["file"] != nil || document["kind"] != "UserDataResult" {
		t.Errorf("%+v", got)
	}
	if wrong := admin().ValidateDocuments(t, got.Out); wrong != "" {
		t.Error(wrong)
	}
	m.setStatus(t, `{"version": "4.20.3", "conditions": []}`)
	m.run(t, "", "-n", "clusters-hosted-a", "patch", "secret", "token-workers-844282c1", "-p",
		`{"stringData": {"token": "another"}}`)
	if got := m.userDataCommand(t, kubeconfig, "workers"); got.Code != report.Refused ||
		!strings.Contains(got.Err, "the token of the user data is no longer valid") {
		t.Errorf("another token: %+v", got)
	}
	m.run(t, "", "-n", "clusters-hosted-a", "delete", "secret", "user-data-workers-844282c1")
	if got := m.userDataCommand(t, kubeconfig, "workers"); got.Code != report.Refused ||
		!strings.Contains(got.Err, "Secret user-data-workers-844282c1 does not exist in namespace clusters-hosted-a") {
		t.Errorf("no Secret: %+v", got)
	}
}
