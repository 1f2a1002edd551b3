// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

const ignitionToken = "7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30" //nolint:gosec // of the test

//go:embed testdata/management-cluster.yaml
var managementClusterObjects string

// managementCluster is a real API server with HyperShift's resources.
type managementCluster struct {
	plane    *bed.ControlPlane
	server   *ignitiontest.Server
	kubectl  string
	userData []byte
}

// startManagementCluster starts an API server. It becomes a management cluster with createObjects.
func startManagementCluster(t *testing.T) *managementCluster {
	t.Helper()
	plane := kubetest.StartPlane(t, "")
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := &managementCluster{plane: plane, kubectl: filepath.Join(bin, "kubectl")}
	m.server = ignitiontest.StartServer(t, "127.0.0.1", ignitionToken)
	if m.userData, err = m.server.UserData(t, ignitionToken).Encode(); err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs kubectl as an administrator and returns its output.
func (m *managementCluster) run(t *testing.T, input string, args ...string) string {
	t.Helper()
	args = append([]string{"--kubeconfig", m.plane.Kubeconfig}, args...)
	command := exec.CommandContext(t.Context(), m.kubectl, args...)
	command.Stdin = strings.NewReader(input)
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, &failure)
	}
	return out.String()
}

func (m *managementCluster) createObjects(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"HostedCluster", "NodePool"} {
		m.run(t, fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.hypershift.openshift.io}
spec:
  group: hypershift.openshift.io
  names: {kind: %[1]s, plural: %[2]ss, singular: %[2]s}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind, strings.ToLower(kind)), "apply", "-f", "-")
	}
	m.run(t, "", "wait", "--for=condition=Established", "crd", "--all")
	objects := strings.NewReplacer("ENDPOINT", strings.TrimPrefix(m.server.URL, "https://"),
		"USER_DATA", base64.StdEncoding.EncodeToString(m.userData), "TOKEN", ignitionToken,
		"GENERATED", time.Now().Add(-time.Minute).Format(time.RFC3339Nano)).Replace(managementClusterObjects)
	m.run(t, objects, "apply", "-f", "-")
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
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "ADDRESS")
}
