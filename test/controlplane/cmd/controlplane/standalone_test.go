// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/vincent-petithory/dataurl"
	"k8s.io/client-go/tools/clientcmd"
)

// testStandaloneWorker fetches a worker configuration by its user data, and requests a node
// certificate with the credential in that configuration.
func testStandaloneWorker(t *testing.T, c *controlPlane) {
	body := workerConfig(t, c)
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal(body, &config); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	for _, file := range config.Storage.Files {
		if file.Path != "/etc/kubernetes/kubeconfig" {
			continue
		}
		content, err := dataurl.DecodeString(file.Contents.Source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if rest.Host != "https://api-int.demo.example.com:6443" || rest.BearerToken == "" || len(rest.CertData) > 0 {
		t.Errorf("the bootstrap kubeconfig leads to %s, with a token: %t", rest.Host, rest.BearerToken != "")
	}
	rest.Host, rest.ServerName = "https://"+c.APIForward, "api-int.demo.example.com"
	created := request(t, client(t, rest), clientSigner, "worker-standalone").get(t, client(t, c.config(t, c.Kubeconfig)))
	if created.Spec.Username != "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" {
		t.Errorf("the CSR is %s's", created.Spec.Username)
	}
}

// workerConfig fetches the worker configuration as a machine does, and compares it with the file
// of the document.
func workerConfig(t *testing.T, c *controlPlane) []byte {
	t.Helper()
	ca, err := os.ReadFile(c.MachineConfigCA)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.MachineConfigURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/vnd.coreos.ignition+json;version=3.2.0")
	status, got := doAsMachine(t, request, ca, c.MachineConfigForward)
	want, err := os.ReadFile(c.WorkerConfig)
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || string(got) != string(want) {
		t.Fatalf("got %d and %d bytes, want the configuration's %d", status, len(got), len(want))
	}
	return got
}
