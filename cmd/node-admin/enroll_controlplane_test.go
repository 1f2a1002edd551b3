// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// enrollTest is a management cluster with a NodePool, and its hosted cluster, both with real API servers.
type enrollTest struct {
	*managementCluster
	hosted   *managementCluster // has no objects of HyperShift
	enroller string             // kubeconfig with the documented permissions
	dir      string             // of the files of one test
}

func startEnrollTest(t *testing.T) *enrollTest {
	t.Helper()
	withoutKubeconfig(t)
	e := &enrollTest{managementCluster: startManagementCluster(t), hosted: startManagementCluster(t)}
	e.createObjects(t)
	e.hosted.run(t, "", "apply", "-k", "../../deploy/hosted-base")
	e.hosted.run(t, "", "wait", "--for=condition=Established", "crd", "--all")
	e.hosted.run(t, "", "create", "namespace", "clusters") // of the accounts of the test
	e.setHostedKubeconfig(t, e.hosted.plane.Kubeconfig)
	e.enroller = e.kubeconfig(t, "enroller", nil)
	return e
}

// setHostedKubeconfig sets the kubeconfig that the status of the HostedCluster names.
func (e *enrollTest) setHostedKubeconfig(t *testing.T, path string) {
	t.Helper()
	if err := e.SetAdminKubeconfig(t.Context(), mustReadFile(t, path)); err != nil {
		t.Fatal(err)
	}
}

// publish creates the Secret with the user data, as the controller does, and its Role for the hosts.
func (e *enrollTest) publish(t *testing.T) {
	t.Helper()
	e.hosted.run(t, rights.PublishedUserData(e.userData, "published-1"), "apply", "-f", "-")
}

// unpublish deletes the user data.
func (e *enrollTest) unpublish(t *testing.T) {
	t.Helper()
	e.hosted.run(t, "", "-n", "hcp-node-admin", "delete", "secret", "user-data-workers", "--ignore-not-found")
}

// enroll runs the command with the documented permissions and the files of the test.
func (e *enrollTest) enroll(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return runCommandLine(t, append([]string{
		"enroll", "-n", "clusters", "--kubeconfig", e.enroller, "--output-dir", e.dir,
	}, args...)...)
}

// token returns the join token of a node, and the ID in its NodeEnrollment.
func (e *enrollTest) token(t *testing.T, node string) (token *enrollment.Token, id string) {
	t.Helper()
	path, _ := enrollment.Paths(e.dir, node)
	token, err := enrollment.ParseToken(mustReadFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	return token, e.hosted.run(t, "", "get", "nodeenrollment", node, "-o", "jsonpath={.spec.tokenID}")
}

func (e *enrollTest) names(t *testing.T, kind string) string {
	t.Helper()
	return strings.Join(strings.Fields(e.hosted.run(t, "", "-n", "hcp-node-admin", "get", kind, "-o", "name")), " ")
}

// The tests share the clusters, run in random order, and enroll their own nodes.
func TestControlPlaneEnroll(t *testing.T) {
	e := startEnrollTest(t)
	for name, test := range map[string]func(*testing.T){
		"unpublished user data": e.checkUnpublished, "published user data": e.checkPublished,
		"first boot": e.checkFirstBoot, "conflicts": e.checkConflicts, "interrupted": e.checkInterrupted,
		"refusals": e.checkRefusals, "hosted cluster only": e.checkHostedOnly, "revoke": e.checkRevoke,
		"offline": e.checkOffline,
	} {
		t.Run(name, func(t *testing.T) {
			e.dir = t.TempDir()
			test(t)
		})
	}
}

func (e *enrollTest) checkUnpublished(t *testing.T) {
	e.unpublish(t)
	nodes := writeTestFile(t, t.TempDir(), "nodes", "worker-2 192.0.2.2\nworker-3 192.0.2.0/24 2001:db8::3\n")
	got := e.enroll(t, "workers", "worker-1=192.0.2.1", "-f", nodes, "--reinstall", "allow", "--label", "rack=r1",
		"--label", "node-role.kubernetes.io/infra=", "--taint", "dedicated=gpu:NoSchedule")
	for _, want := range []string{
		"the controller does not publish the user data of NodePool workers", "worker-1: created, ", "worker-3: created, ",
		"\nhcp-node-agent join --join-token NAME.token --user-data user-data.ign\n",
		"\nhcp-node-admin nodes --namespace clusters --hosted-cluster hosted-a --kubeconfig " + e.enroller + "\n",
	} {
		if !strings.Contains(unwrap(got.Out), want) {
			t.Errorf("%q is missing in:\n%s", want, got.Out)
		}
	}
	if got.Code != report.Success {
		t.Fatalf("%+v", got)
	}
	for _, node := range []string{"worker-1", "worker-2", "worker-3"} {
		token, id := e.token(t, node)
		if token.ID != id || token.Cluster != nil || token.UserData != nil || len(token.Labels) != 1 {
			t.Errorf("%s: token %v, NodeEnrollment %s", node, token, id)
		}
	}
	spec := e.hosted.run(t, "", "get", "nodeenrollment", "worker-3", "-o",
		"jsonpath={.spec.nodePool} {.spec.reinstall} {.spec.addresses} {.spec.labels} {.spec.taints}")
	if spec != `workers Allow ["192.0.2.0/24","2001:db8::3"] {"node-role.kubernetes.io/infra":"","rack":"r1"} `+
		`[{"effect":"NoSchedule","key":"dedicated","value":"gpu"}]` {
		t.Errorf("NodeEnrollment %s", spec)
	}
	if accounts := e.names(t, "serviceaccounts"); strings.Contains(accounts, "serviceaccount/node-worker-") {
		t.Errorf("ServiceAccounts %s", accounts)
	}
	if exists(filepath.Join(e.dir, "enrollments")) {
		t.Error("manifests were written")
	}

	// With a longer list, only the new node is enrolled.
	before := mustReadFile(t, filepath.Join(e.dir, "tokens/worker-1.token"))
	again := e.enroll(t, "workers", "worker-1=192.0.2.9", "-f", nodes, "worker-4=192.0.2.2", "-o", "json")
	if again.Code != report.Usage || !strings.Contains(again.Err, "have the same address 192.0.2.2") {
		t.Errorf("the same address: %+v", again)
	}
	again = e.enroll(t, "workers", "worker-1=192.0.2.9", "worker-4=192.0.2.2", "-o", "json")
	list, _ := clitest.DecodeDocument(t, again.Out)["enrollments"].([]any)
	if again.Code != report.Success || len(list) != 2 || string(mustReadFile(t,
		filepath.Join(e.dir, "tokens/worker-1.token"))) != string(before) {
		t.Fatalf("%+v", again)
	}
	for i, want := range []string{"existing", "created"} {
		if state := list[i].(map[string]any)["state"]; state != want {
			t.Errorf("enrollment %d is %s, want %s", i, state, want)
		}
	}
	for _, want := range []string{
		"the addresses of NodeEnrollment worker-1 are [192.0.2.1]",
		"NodeEnrollment worker-2 has the address 192.0.2.2 of worker-4",
	} {
		if !strings.Contains(again.Out, want) {
			t.Errorf("%q is missing in:\n%s", want, again.Out)
		}
	}
	if wrong := admin().ValidateDocuments(t, again.Out); wrong != "" {
		t.Error(wrong)
	}
}

// When the user data is published, a repeated run adds the credential for it.
func (e *enrollTest) checkPublished(t *testing.T) {
	e.unpublish(t)
	if early := e.enroll(t, "workers", "published-1"); !strings.Contains(early.Out, "published-1: created, ") {
		t.Fatalf("%+v", early)
	}
	e.publish(t)
	got := e.enroll(t, "workers", "published-1", "published-2", "--expires", "720h")
	if got.Code != report.Success || !strings.Contains(got.Out, "published-1: completed, ") ||
		!strings.Contains(got.Out, "published-2: created, ") || strings.Contains(got.Out, "--user-data") {
		t.Fatalf("%+v", got)
	}
	for node, lifetime := range map[string]time.Duration{"published-1": 24 * time.Hour, "published-2": 720 * time.Hour} {
		token, id := e.token(t, node)
		if token.ID != id || token.Cluster == nil || token.Cluster.Secret != "user-data-workers" {
			t.Fatalf("%s: token %v", node, token)
		}
		if left := time.Until(token.Expires); left > lifetime || left < lifetime-time.Hour {
			t.Errorf("%s: the token is valid for %s", node, left)
		}
		owner := e.hosted.run(t, "", "-n", "hcp-node-admin", "get", "serviceaccount", "node-"+node, "-o",
			"jsonpath={.metadata.ownerReferences[0].uid}")
		if uid := e.hosted.run(t, "", "get", "nodeenrollment", node, "-o", "jsonpath={.metadata.uid}"); owner != uid {
			t.Errorf("%s: the ServiceAccount is owned by %q, not by %q", node, owner, uid)
		}
		if strings.Contains(got.Out+got.Err, token.Cluster.BearerToken) {
			t.Error("the credential was printed")
		}
	}
	read := func(node string) error {
		in, err := request.Read(t.Context(), request.Options{
			Config:   config.Join{JoinToken: filepath.Join(e.dir, "tokens", node+".token")},
			StateDir: t.TempDir(),
		}, joinstate.State{}, request.UserDataRequired)
		if err == nil && in.UserData.NodePool() != "clusters/workers" {
			t.Errorf("user data of %s", in.UserData.NodePool())
		}
		return err
	}
	waittest.Until(t, "waiting for the permission to read the user data", func() (any, bool) {
		err := read("published-1")
		return err, err == nil
	})
	if err := read("published-2"); report.CodeOf(err) != report.CredentialRefused {
		t.Errorf("a host without a RoleBinding reads the user data: %v", err)
	}
	if again := e.enroll(t, "workers", "published-1", "published-2"); again.Code != report.Success ||
		strings.Count(again.Out, "exists and is kept") != 2 {
		t.Errorf("again: %+v", again)
	}
}
