// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func (e *enrollTest) checkConflicts(t *testing.T) {
	e.publish(t)
	if got := e.enroll(t, "workers", "conflict-2"); got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	manifest := e.hosted.run(t, "", "get", "nodeenrollment", "conflict-2", "-o", "yaml")
	_, id := e.token(t, "conflict-2")
	e.hosted.run(t, "", "delete", "nodeenrollment", "conflict-2")
	e.hosted.run(t, strings.ReplaceAll(manifest, id, strings.Repeat("a", 32)), "create", "-f", "-")
	got := e.enroll(t, "workers", "conflict-2", "conflict-9")
	if got.Code != report.Refused || !strings.Contains(got.Err, "node conflict-2: its join token is not that of a "+
		"NodeEnrollment: that of the cluster is for") || !strings.Contains(got.Out, "conflict-9: created, ") ||
		!strings.Contains(got.Err, "hcp-node-admin token revoke conflict-2") {
		t.Errorf("another join token: %+v", got)
	}
	if err := os.Remove(filepath.Join(e.dir, "tokens/conflict-2.token")); err != nil {
		t.Fatal(err)
	}
	got = e.enroll(t, "workers", "conflict-2")
	if got.Code != report.Success || !strings.Contains(unwrap(got.Out), "NodeEnrollment conflict-2 exists, was not used "+
		"yet, and its join token is not in ") || exists(filepath.Join(e.dir, "tokens/conflict-2.token")) {
		t.Errorf("without the file: %+v", got)
	}
	e.hosted.run(t, "", "patch", "nodeenrollment", "conflict-2", "--type=merge", "-p",
		`{"spec": {"usedBy": {"key": "SHA256:00", "at": "2026-01-01T00:00:00Z"}}}`)
	got = e.enroll(t, "workers", "conflict-2")
	if got.Code != report.Success || !strings.Contains(got.Out, "conflict-2: already enrolled, kept") ||
		strings.Contains(got.Out, "warning") {
		t.Errorf("a node that has joined: %+v", got)
	}
	e.hosted.run(t, "", "-n", "hcp-node-admin", "create", "serviceaccount", "node-conflict-10")
	got = e.enroll(t, "workers", "conflict-10")
	if got.Code != report.Refused || !strings.Contains(got.Err, " exists, and is not that of this NodeEnrollment") {
		t.Errorf("a foreign ServiceAccount: %+v", got)
	}
	e.hosted.run(t, "", "-n", "hcp-node-admin", "delete", "serviceaccount", "node-conflict-10")
	if again := e.enroll(t, "workers", "conflict-10"); !strings.Contains(again.Out, "conflict-10: completed, ") {
		t.Errorf("again: %+v", again)
	}
	if err := os.WriteFile(filepath.Join(e.dir, "tokens/conflict-11.token"), mustReadFile(t,
		filepath.Join(e.dir, "tokens/conflict-10.token")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := e.enroll(t, "workers", "conflict-11"); got.Code != report.Refused ||
		!strings.Contains(got.Err, "it is the join token of node conflict-10") {
		t.Errorf("a file of another node: %+v", got)
	}
}

// account creates a ServiceAccount of the hosted cluster with these rights, and returns its kubeconfig.
func (e *enrollTest) account(t *testing.T, name string, rights ...string) string {
	t.Helper()
	e.hosted.run(t, "", "-n", "clusters", "create", "serviceaccount", name)
	for i, right := range rights {
		verbs, resources, _ := strings.Cut(right, " ")
		role := name + string(rune('a'+i))
		e.hosted.run(t, "", "create", "clusterrole", role, "--verb="+verbs, "--resource="+resources)
		e.hosted.run(t, "", "create", "clusterrolebinding", role, "--clusterrole="+role, "--serviceaccount=clusters:"+name)
	}
	return e.hosted.kubeconfig(t, name, nil)
}

// What a run without all permissions has created is listed, and a repeated run completes it. No key is lost.
func (e *enrollTest) checkInterrupted(t *testing.T) {
	e.publish(t)
	const reads = "get,list nodeenrollments.hcp-node-agent.io,nodes,secrets"
	const creates = "create nodeenrollments.hcp-node-agent.io"
	for name, test := range map[string]struct {
		rights        []string
		want          string
		creates, file bool
	}{
		"none":     {nil, "getting Secret hcp-node-admin/user-data-workers on the hosted cluster ", false, false},
		"no-lists": {[]string{"get secrets"}, "listing NodeEnrollments on ", false, false},
		"reader":   {[]string{reads}, "creating NodeEnrollment ", false, true},
		"creator":  {[]string{reads, creates}, "creating ServiceAccount ", true, true},
		"accounts": {[]string{reads, creates, "create serviceaccounts"}, "creating the token of ServiceAccount ", true, true},
	} {
		node := "interrupted-" + name
		kubeconfig := e.account(t, name, test.rights...)
		path, _ := enrollment.Paths(e.dir, node)
		path += ".incomplete"
		got := e.enroll(t, "workers", node, "--hosted-kubeconfig", kubeconfig)
		objects := e.names(t, "nodeenrollments")
		if got.Code != report.CredentialRefused || !strings.Contains(got.Err, test.want) ||
			strings.Contains(got.Out, node+": "+path+" was kept") != test.file || exists(path) != test.file ||
			strings.Contains(objects, node) != test.creates || exists(strings.TrimSuffix(path, ".incomplete")) {
			t.Errorf("%s: %+v, NodeEnrollments %s, file %t", name, got, objects, exists(path))
		}
		var before *enrollment.Token
		if test.file {
			content := mustReadFile(t, path)
			before, _ = enrollment.ParseToken(content)
		}
		again := e.enroll(t, "workers", node)
		token, id := e.token(t, node)
		if again.Code != report.Success || token.ID != id || token.Cluster == nil ||
			(before != nil && before.Summarize(time.Now()).Fingerprint != token.Summarize(time.Now()).Fingerprint) {
			t.Errorf("%s: again: %+v", name, again)
		}
	}
}

func (e *enrollTest) checkRefusals(t *testing.T) {
	unreachable := e.hosted.kubeconfig(t, "", func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.Server = "https://127.0.0.1:1"
	})
	rejected := e.hosted.kubeconfig(t, "", func(_ *api.Cluster, user *api.AuthInfo) {
		*user = api.AuthInfo{Token: "none"}
	})
	insecure := e.hosted.kubeconfig(t, "", func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.CertificateAuthorityData, cluster.CertificateAuthority, cluster.InsecureSkipTLSVerify = nil, "", true
	})
	management := e.kubeconfig(t, "", nil)
	for name, test := range map[string]struct {
		args string
		code report.Code
		want string
	}{
		"another platform":     {"aws x", report.Refused, "NodePool clusters/aws: the platform is AWS"},
		"no such NodePool":     {"none x", report.Usage, "NodePool none does not exist in namespace clusters"},
		"unreachable":          {"workers x --hosted-kubeconfig " + unreachable, report.Failed, "refused the connection"},
		"rejected credential":  {"workers x --hosted-kubeconfig " + rejected, report.CredentialRefused, "is rejected (HTTP 401)"},
		"management as hosted": {"workers x --hosted-kubeconfig " + management, report.Refused, "is not that of the hosted cluster"},
		"hosted as management": {
			"workers x --kubeconfig " + e.hosted.kubeconfig(t, "", nil), report.Refused, "is not a management cluster",
		},
		"no permission": {
			"workers x --kubeconfig " + e.kubeconfig(t, "lister", nil), report.CredentialRefused,
			"getting Secret clusters/hosted-a-admin-kubeconfig on the management cluster ",
		},
		"lifetime": {"workers x --expires 721h", report.Usage, "1 minute to 30 days"},
	} {
		t.Run(name, func(t *testing.T) {
			got := e.enroll(t, strings.Fields(test.args)...)
			if got.Code != test.code || !strings.Contains(got.Err, test.want) || exists(filepath.Join(e.dir, "tokens/x.token")) {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("management only", func(t *testing.T) {
		got := runCommandLine(t, "enroll", "workers", "x", "--hosted-kubeconfig", management, "--output-dir", e.dir)
		if got.Code != report.Refused || !strings.Contains(got.Err, "is a management cluster, not a hosted ") {
			t.Errorf("%+v", got)
		}
		got = runCommandLine(t, "enroll", "workers", "x", "--hosted-kubeconfig", insecure, "--output-dir", e.dir)
		if got.Code != report.Usage || !strings.Contains(got.Err, "contains no CA") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no kubeconfig yet", func(t *testing.T) {
		e.run(t, "", "-n", "clusters", "delete", "secret", "hosted-a-admin-kubeconfig")
		defer e.setHostedKubeconfig(t, e.hosted.plane.Kubeconfig)
		got := e.enroll(t, "workers", "x")
		if got.Code != report.Refused ||
			!strings.Contains(got.Err, "Secret hosted-a-admin-kubeconfig in namespace clusters does not exist") {
			t.Errorf("%+v", got)
		}
	})
}

// Without access to the management cluster, the NodePool is not checked.
func (e *enrollTest) checkHostedOnly(t *testing.T) {
	kubeconfig := e.hosted.kubeconfig(t, "", nil)
	run := func(args ...string) clitest.Result {
		return runCommandLine(t, append([]string{"enroll", "--hosted-kubeconfig", kubeconfig, "--output-dir", e.dir}, args...)...)
	}
	if got := run("others", "hosted-only"); got.Code != report.Success {
		t.Errorf("%+v", got)
	}
	siteFile := writeTestFile(t, t.TempDir(), "site.yaml", siteContent)
	got := run("others", "hosted-only-2", "--format", "cloud-init", "--site-config", siteFile)
	if got.Code != report.Usage ||
		!strings.Contains(got.Err, "--format cloud-init requires the user data of the NodePool") {
		t.Errorf("%+v", got)
	}
}

func (e *enrollTest) checkRevoke(t *testing.T) {
	kubeconfig := e.hosted.kubeconfig(t, "", nil)
	e.publish(t)
	if got := e.enroll(t, "workers", "revoked-1", "revoked-5"); got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	e.hosted.run(t, "apiVersion: v1\nkind: Node\nmetadata: {name: revoked-5}\n", "create", "-f", "-")
	got := runCommandLine(t, "token", "revoke", "revoked-1", "revoked-5", "none", "--kubeconfig", kubeconfig)
	if got.Code != report.Usage || !strings.Contains(got.Out, "revoked-1: join token revoked") ||
		!strings.Contains(got.Out, "\nhcp-node-admin remove revoked-5 --kubeconfig "+kubeconfig+"\n") ||
		strings.Contains(got.Out, "remove revoked-1") || !strings.Contains(got.Err, "no NodeEnrollment exists for none") {
		t.Errorf("%+v", got)
	}
	left := e.names(t, "nodeenrollments") + e.names(t, "serviceaccounts")
	if strings.Contains(left+" ", "revoked-1 ") || strings.Contains(left+" ", "revoked-5 ") {
		t.Errorf("left are %s", left)
	}
	// The file of a revoked join token must not admit its host again.
	again := e.enroll(t, "workers", "revoked-5")
	if again.Code != report.Refused || !strings.Contains(again.Err, "NodeEnrollment: it was revoked") ||
		strings.Contains(e.names(t, "nodeenrollments"), "revoked-5") {
		t.Errorf("with the kept file: %+v", again)
	}
	if err := os.Remove(filepath.Join(e.dir, "tokens/revoked-5.token")); err != nil {
		t.Fatal(err)
	}
	if again := e.enroll(t, "workers", "revoked-5"); again.Code != report.Success ||
		!strings.Contains(again.Out, "Node revoked-5 exists already") {
		t.Errorf("without the file: %+v", again)
	}
	denied := runCommandLine(t, "token", "revoke", "revoked-5", "--kubeconfig", e.account(t, "revoker"))
	if denied.Code != report.CredentialRefused || !strings.Contains(denied.Err, "deleting NodeEnrollment revoked-5 on ") {
		t.Errorf("without permission: %+v", denied)
	}
	json := runCommandLine(t, "token", "revoke", "revoked-5", "--kubeconfig", kubeconfig, "-o", "json")
	if wrong := admin().ValidateDocuments(t, json.Out); wrong != "" || json.Code != report.Success {
		t.Errorf("%s: %+v", wrong, json)
	}
}

// The API server accepts the manifests of --offline unchanged.
func (e *enrollTest) checkOffline(t *testing.T) {
	e.publish(t)
	got := runCommandLine(t, "enroll", "--offline", "workers", "offline-1=192.0.2.100,2001:db8::/64", "offline-2",
		"--hosted-kubeconfig", e.hosted.plane.Kubeconfig, "--output-dir", e.dir, "--reinstall", "allow")
	if got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	if early := e.enroll(t, "workers", "offline-1"); early.Code != report.Refused ||
		!strings.Contains(early.Err, "or is not applied yet") {
		t.Errorf("before the manifest is applied: %+v", early)
	}
	e.hosted.run(t, "", "apply", "-f", filepath.Join(e.dir, "enrollments"))
	spec := e.hosted.run(t, "", "get", "nodeenrollment", "offline-1", "-o", "jsonpath={.spec.addresses} {.spec.reinstall}")
	if spec != `["192.0.2.100","2001:db8::/64"] Allow` {
		t.Errorf("NodeEnrollment %s", spec)
	}
	// A run with the cluster accepts the files.
	if again := e.enroll(t, "workers", "offline-1=192.0.2.100,2001:db8::/64"); again.Code != report.Success ||
		!strings.Contains(again.Out, "offline-1: completed, ") {
		t.Errorf("%+v", again)
	}
}
