// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	_ "embed"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/hypershift"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

const ignitionToken = "7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30" //nolint:gosec // of the test

//go:embed testdata/accounts.yaml
var accounts string

// managementCluster is a real API server with HyperShift's resources.
type managementCluster struct {
	hypershift.Cluster

	plane    *bed.ControlPlane
	server   *ignitiontest.Server
	userData []byte
}

// startManagementCluster starts an API server. It becomes a management cluster with createObjects.
func startManagementCluster(t *testing.T) *managementCluster {
	t.Helper()
	m := newManagementCluster(t, kubetest.StartPlane(t, ""))
	m.server = ignitiontest.StartServer(t, "127.0.0.1", ignitionToken)
	var err error
	if m.userData, err = m.server.UserData(t, ignitionToken).Encode(); err != nil {
		t.Fatal(err)
	}
	return m
}

func newManagementCluster(t *testing.T, plane *bed.ControlPlane) *managementCluster {
	t.Helper()
	return &managementCluster{Cluster: hypershift.Cluster{Kubeconfig: plane.Kubeconfig}, plane: plane}
}

// run runs kubectl as an administrator and returns its output.
func (m *managementCluster) run(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := m.Run(t.Context(), input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// state returns the state of the NodePool.
func (m *managementCluster) state() hypershift.State {
	return hypershift.State{
		Endpoint: strings.TrimPrefix(m.server.URL, "https://"), Token: ignitionToken, UserData: m.userData,
		Config: "844282c1", Release: "4.20.3",
	}
}

func (m *managementCluster) createObjects(t *testing.T) {
	t.Helper()
	if err := m.Define(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(t.Context(), m.state()); err != nil {
		t.Fatal(err)
	}
	m.run(t, accounts, "apply", "-f", "-")
}

func (m *managementCluster) addHostedCluster(t *testing.T, name, platform string) {
	t.Helper()
	if err := m.CreateHostedCluster(t.Context(), name, platform); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig writes a kubeconfig for a service account of namespace clusters, and returns its path. The namespace of
// its context is clusters. change modifies it; it can be nil.
func (m *managementCluster) kubeconfig(t *testing.T, account string, change func(*api.Cluster, *api.AuthInfo)) string {
	t.Helper()
	file, err := clientcmd.LoadFromFile(m.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := file.Contexts[file.CurrentContext]
	current.Namespace = "clusters"
	if account != "" {
		file.AuthInfos[current.AuthInfo] = &api.AuthInfo{
			Token: strings.TrimSpace(m.run(t, "", "-n", "clusters", "create", "token", account)),
		}
	}
	if change != nil {
		change(file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo])
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// userDataCommand runs the command in an empty directory.
func (m *managementCluster) userDataCommand(t *testing.T, kubeconfig string, args ...string) clitest.Result {
	t.Helper()
	t.Chdir(t.TempDir())
	return runCommandLine(t, append([]string{"user-data", "--kubeconfig", kubeconfig}, args...)...)
}

// variable replaces what differs between runs.
func variable(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(10h5\dm\)`).ReplaceAllString(text, "TIME (10h59m)")
	text = regexp.MustCompile(` --kubeconfig /\S+`).ReplaceAllString(text, " --kubeconfig FILE")
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "ADDRESS")
}
