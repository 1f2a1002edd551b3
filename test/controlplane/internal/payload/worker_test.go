// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
)

// A standalone cluster serves a NodePool's payload without HyperShift's additions, and with the
// name of its pool in the files that the server adds.
func TestWorkerOfAStandaloneCluster(t *testing.T) {
	worker, err := payload.BuildWorker(inputs())
	if err != nil {
		t.Fatal(err)
	}
	body, err := worker.Encode(2)
	if err != nil {
		t.Fatal(err)
	}
	hosted, standalone := shape(parse(t, build(t).Body)), shape(parse(t, body))
	var gone []string
	for name := range hosted {
		if standalone[name] == "" {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if len(gone) != 5 || len(standalone) != len(hosted)-5 ||
		!strings.Contains(strings.Join(gone, " "), "apiserver-ip.service") {
		t.Errorf("omitted: %q; of %d entries %d exist", gone, len(hosted), len(standalone))
	}
	config := parse(t, body)
	last := len(config.Storage.Files) - 5
	for i, path := range []string{
		"/etc/kubernetes/kubelet-ca.crt", "/etc/machine-config-daemon/node-annotations.json", "/etc/kubernetes/kubeconfig",
		"/etc/mcs-machine-config-content.json", "/etc/ignition-machine-config-encapsulated.json",
	} {
		if f := config.Storage.Files[last+i]; f.Path != path || *f.Mode != 0o644 || !*f.Overwrite ||
			!strings.HasPrefix(*f.Contents.Source, "data:,") {
			t.Errorf("file %d from the end is %s, mode %o", 5-i, f.Path, *f.Mode)
		}
	}
	contents := decoded(t, config)
	var annotations map[string]string
	if err := json.Unmarshal([]byte(contents["/etc/machine-config-daemon/node-annotations.json"]),
		&annotations); err != nil {
		t.Fatal(err)
	}
	const prefix = "machineconfiguration.openshift.io/"
	name := annotations[prefix+"currentConfig"]
	if !strings.HasPrefix(name, "rendered-worker-") || annotations[prefix+"desiredConfig"] != name ||
		annotations[prefix+"firstPivotConfig"] != name || annotations[prefix+"state"] != "Done" {
		t.Errorf("annotations of the node: %v", annotations)
	}
	if strings.Contains(contents["nodeip-configuration.service"], "podman") {
		t.Error("nodeip-configuration.service runs a container that cannot be had")
	}
}

func TestWorkerInEverySpec(t *testing.T) {
	worker, err := payload.BuildWorker(inputs())
	if err != nil {
		t.Fatal(err)
	}
	for minor := 1; minor <= 4; minor++ {
		body, err := worker.Encode(minor)
		if err != nil {
			t.Fatal(err)
		}
		parse(t, body) // Ignition must parse the config without a warning
	}
	body, err := worker.EncodeV2()
	if err != nil {
		t.Fatal(err)
	}
	var old struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct{ Filesystem, Path string }
		}
	}
	if err := json.Unmarshal(body, &old); err != nil || old.Ignition.Version != "2.2.0" || len(old.Storage.Files) < 40 ||
		old.Storage.Files[0].Filesystem != "root" || old.Storage.Files[0].Path == "" {
		t.Errorf("spec 2: %v, %s, %d files", err, old.Ignition.Version, len(old.Storage.Files))
	}
}

func TestWorkerUserData(t *testing.T) {
	userData, err := payload.WorkerUserData("https://api-int.demo.example.com:22623/config/worker",
		[]byte("-----BEGIN CERTIFICATE-----\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ignition":{"config":{"merge":[{"source":"https://api-int.demo.example.com:22623/config/worker"}]},` +
		`"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,` +
		`LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}]}},` +
		`"version":"3.2.0"}}`
	if string(userData) != want {
		t.Errorf("the user data is\n%s\nwant\n%s", userData, want)
	}
}
