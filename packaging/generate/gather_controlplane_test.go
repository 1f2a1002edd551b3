// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/install"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// The script for must-gather writes the metadata of Secrets, and nothing that can contain their data.
func TestControlPlaneGather(t *testing.T) {
	api, _ := connect(t)
	createNamespace(t, api, "gathered")
	settings := install.Settings{In: cluster.Management, Namespace: "gathered"}
	objects, err := settings.Objects(cluster.Management)
	if err != nil {
		t.Fatal(err)
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"userData": "hunter2"},
	}}
	secret.SetName("user-data-workers")
	secret.SetNamespace("gathered")
	secret.SetAnnotations(map[string]string{
		"hcp-node-agent.io/release": "4.21.3", "kubectl.kubernetes.io/last-applied-configuration": "hunter2", "short": "x",
	})
	for _, object := range append(objects, secret) {
		if object.GetNamespace() == "gathered" {
			if err := api.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	bin, err := bed.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	command := exec.CommandContext(t.Context(), filepath.Join(checkout, "deploy/must-gather/gather.sh"), directory)
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NAMESPACE=gathered",
		"KUBECONFIG="+kubetest.Plane.Kubeconfig)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	all := map[string]string{}
	files, err := filepath.Glob(directory + "/hcp-node-admin/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text := string(kubetest.ReadFile(t, file))
		all[filepath.Base(file)] = text
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") { // plain, and in base64
			t.Errorf("%s contains the data of a Secret", file)
		}
	}
	for file, want := range map[string]string{
		"secrets.txt":     "\n  annotation hcp-node-agent.io/release=4.21.3\n",
		"deployment.yaml": "name: hcp-node-admin-controller", "leases.yaml": "kind: List", "events.yaml": "kind: List",
		"pods.yaml": "kind: List", "version.yaml": "serverVersion:",
	} {
		if !strings.Contains("\n"+all[file], want) || all[file+".error"] != "" {
			t.Errorf("%s: want %q in %q, error %q", file, want, all[file], all[file+".error"])
		}
	}
}
