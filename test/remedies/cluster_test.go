// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package remedies_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// ocScript runs kubectl as oc. The subcommands of oc adm that are used are subcommands of kubectl.
const ocScript = `#!/bin/sh
test "$1" != adm || shift
exec kubectl ` + waittest.KubectlTimeout + ` "$@"
`

// Each remedy for an administrator of the cluster is valid for a real API server: the kinds, fields and objects
// of its commands exist.
func TestRemediesForTheCluster(t *testing.T) {
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := scratchDir(t)
	for _, kubeconfig := range []string{"hosted.kubeconfig", "management.kubeconfig"} {
		kubetest.WriteFile(t, filepath.Join(dir, kubeconfig), kubetest.ReadFile(t, kubetest.Plane.Kubeconfig))
	}
	writeScript(t, filepath.Join(dir, "bin", "oc"), ocScript)
	deploy, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := filepath.Abs("testdata/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deploy, filepath.Join(dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	management := hypershift.Cluster{Kubeconfig: kubetest.Plane.Kubeconfig}
	if err := management.Define(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := management.Apply(t.Context(), hypershift.State{
		HostedCluster: "demo", Endpoint: "ignition.example.com", Token: "content", UserData: []byte("content"),
		Config: "abc", Release: "4.20.3",
	}); err != nil {
		t.Fatal(err)
	}
	shell := localShell(t, dir, "PATH="+filepath.Join(dir, "bin")+":"+bin+":"+os.Getenv("PATH"),
		"KUBECONFIG="+kubetest.Plane.Kubeconfig)
	// The kinds of the first documents are known only after a moment.
	result, err := shell("oc apply -k deploy/hosted-base; until oc apply -f " + objects +
		"; do sleep 1; done")
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("creating the objects: %v, %+v", err, result)
	}
	remedies.Run(t, remedies.Cluster, shell)
}

func writeScript(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}
