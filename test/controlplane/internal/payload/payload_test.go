// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"encoding/json"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/stack"
)

func build(t *testing.T) payload.Payload {
	t.Helper()
	built, err := payload.Build(inputs())
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func inputs() payload.Inputs {
	return payload.Inputs{
		APIName:           "api.demo.example.com",
		Stack:             stack.IPv4(),
		Registry:          "registry.demo.example.com:5000",
		ReleaseRepository: "registry.demo.example.com:5000/release",
		PauseImage:        "registry.demo.example.com:5000/release@sha256:aa",
		APIProxyImage:     "registry.demo.example.com:5000/release@sha256:bb",
		PullSecret:        `{"auths":{"registry.demo.example.com:5000":{"auth":"c2VjcmV0"}}}`,
		KubeletCA:         []byte("-----BEGIN CERTIFICATE-----\n"),
		BootstrapConfig:   []byte("kind: Config\n"),
		SSHKey:            "ssh-ed25519 AAAA core@example.com",
	}
}

// parse parses a payload with Ignition's own parser.
func parse(t *testing.T, body []byte) types.Config {
	t.Helper()
	config, report, err := ignition.ParseCompatibleVersion(body)
	if err != nil || report.IsFatal() || len(report.Entries) > 0 {
		t.Fatalf("Ignition returns: %v\n%s", err, report.String())
	}
	return config
}

func TestIgnitionParsesPayloadWithoutWarnings(t *testing.T) {
	built := build(t)
	parse(t, built.Body)
	if len(built.Hash) != 8 {
		t.Errorf("hash is %q, want eight digits", built.Hash)
	}
	var version struct{ Ignition struct{ Version string } }
	if err := json.Unmarshal(built.Body, &version); err != nil || version.Ignition.Version != "3.2.0" {
		t.Errorf("version is %q, %v; HyperShift serves 3.2.0", version.Ignition.Version, err)
	}
}

func TestBuildIsReproducible(t *testing.T) {
	if one, two := build(t), build(t); string(one.Body) != string(two.Body) || one.Hash != two.Hash {
		t.Error("two builds from the same inputs are different")
	}
}

func TestDifferencesAreApplied(t *testing.T) {
	contents := decoded(t, parse(t, build(t).Body))
	for _, test := range []struct{ path, has, hasNot string }{
		{"/etc/kubernetes/kubelet.conf", "protectKernelDefaults: true", "featureGates"},
		{"/etc/crio/crio.conf.d/00-default", `default_runtime = "runc"`, `default_runtime = "crun"`},
		{"/etc/crio/crio.conf.d/00-default", `"/usr/lib/cni",`, "{{"},
		{"/etc/containers/registries.conf", `location = "registry.demo.example.com:5000"`, "docker.io"},
		{"/etc/node-sizing-enabled.env", "SYSTEM_RESERVED_MEMORY=128Mi", "1Gi"},
		{"kubelet.service", "--node-labels=node.openshift.io/os_id=${ID}", "node-role.kubernetes.io"},
		{"/etc/demo.d/nodepool.conf", "Grüße", ""},
	} {
		content, there := contents[test.path]
		if !there || !strings.Contains(content, test.has) || test.hasNot != "" && strings.Contains(content, test.hasNot) {
			t.Errorf("%s has not %q, or has %q:\n%s", test.path, test.has, test.hasNot, content)
		}
	}
	if _, there := contents["/etc/kubernetes/manifests/criometricsproxy.yaml"]; there {
		t.Error("criometricsproxy.yaml exists")
	}
	for _, d := range payload.Differences() {
		if d.What == "" || d.Why == "" || len(d.Paths) == 0 {
			t.Errorf("not declared in full: %+v", d)
		}
	}
}

func TestSecretFilesHaveUpstreamModes(t *testing.T) {
	config := parse(t, build(t).Body)
	modes := map[string]int{}
	for _, f := range config.Storage.Files {
		modes[f.Path] = *f.Mode
	}
	for path, want := range map[string]int{
		"/etc/kubernetes/kubeconfig":                      0o644,
		"/etc/mcs-machine-config-content.json":            0o644,
		"/var/lib/kubelet/config.json":                    0o600,
		"/usr/local/bin/configure-ovs.sh":                 0o755,
		"/etc/kubernetes/kubelet.conf":                    0o644,
		"/etc/NetworkManager/conf.d/sdn.conf":             0o644,
		"/etc/kubernetes/kubelet-ca.crt":                  0o644,
		"/usr/local/bin/setup-apiserver-ip.sh":            0o755,
		"/etc/NetworkManager/dispatcher.d/99-esp-offload": 0o744,
	} {
		if modes[path] != want {
			t.Errorf("%s is %#o, want %#o", path, modes[path], want)
		}
	}
	contents := decoded(t, config)
	if !strings.Contains(contents["/etc/mcs-machine-config-content.json"], "c2VjcmV0") {
		t.Error("mcs-machine-config-content.json does not hold the pull secret, as the real one does")
	}
}
