// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// The mirror, the pull secret and the CA are those of the payload.
func TestLoadSoftwareReadsTheImageOfThePayload(t *testing.T) {
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{"version": "418.94.202501221327-0"}})
	if err != nil {
		t.Fatal(err)
	}
	server := registrytest.New(t, "pull")
	_, digest, _ := strings.Cut(server.Push(t, "mirror/os", image), "@")
	pullSpec := "registry.invalid/release/os@" + digest
	s := softwareOf(t, map[string]string{
		ignition.MachineConfigPath: fmt.Sprintf(`{"spec":{"osImageURL":%q}}`, pullSpec),
		registriesConf: "[[registry]]\nlocation = \"registry.invalid/release\"\n" +
			"[[registry.mirror]]\nlocation = \"" + server.Host + "/mirror\"\n",
		pods.PullSecretPath: string(registrytest.PullSecret(server.Host, "pull")),
		crio.TrustAnchorsDir + "/openshift-config.crt": string(
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		),
		proxyEnvironment: "# comment\nHTTP_PROXY=\nHTTPS_PROXY=http://192.0.2.1:3128\nNO_PROXY=.invalid,127.0.0.1\n",
	}, nil)
	s.session.Run.Dir, s.session.Host.Facts.Arch = t.TempDir(), "amd64"
	if read, err := s.Load(
		t.Context(), (&reporttest.Recorder{}).Log(),
	); err != nil || s.Err != nil || !read {
		t.Fatalf("Load() = %v, %v", err, s.Err)
	}
	if want := (software.Release{Major: 4, Minor: 18}); s.Contents.Release != want || s.Contents.Image != pullSpec {
		t.Errorf("software %+v, want release %s", s.Contents, want)
	}

	// A later run needs no registry, unless the payload names another image.
	if err := joinstate.SaveSoftware(s.session.Run.Dir, *s.Contents); err != nil {
		t.Fatal(err)
	}
	server.Close()
	s.Contents = nil
	if read, err := s.Load(
		t.Context(), (&reporttest.Recorder{}).Log(),
	); err != nil || s.Err != nil || s.Contents == nil || read {
		t.Errorf("Load() = %v, %v for the stored image", err, s.Err)
	}
	stored := software.Contents{Image: "registry.invalid/another@" + digest}
	if err := joinstate.SaveSoftware(s.session.Run.Dir, stored); err != nil {
		t.Fatal(err)
	}
	s.Contents = nil
	if read, err := s.Load(
		t.Context(), (&reporttest.Recorder{}).Log(),
	); err != nil || s.Err == nil || s.Contents != nil || read {
		t.Errorf("Load() = %v, %v for another image", err, s.Err)
	}
}

// Drop-ins of the payload add to those of the host, and replace them.
func TestRegistriesDropIns(t *testing.T) {
	const dir = registriesDropIn + "/"
	s := softwareOf(t, map[string]string{dir + "b.conf": "# payload", registriesConf: "# main"},
		map[string]string{dir + "a.conf": "# host", dir + "b.conf": "# host"})
	want := map[string][]byte{"a.conf": []byte("# host"), "b.conf": []byte("# payload")}
	if diff := cmp.Diff(want, s.registriesDropIns()); diff != "" {
		t.Errorf("drop-ins (-want +got):\n%s", diff)
	}
}

func TestPayloadProxy(t *testing.T) {
	s := softwareOf(
		t, map[string]string{proxyEnvironment: "HTTPS_PROXY=http://192.0.2.1:3128\nNO_PROXY=.example.com\n"}, nil,
	)
	for target, want := range map[string]string{
		"https://quay.io/v2/": "http://192.0.2.1:3128", "https://registry.example.com/v2/": "<nil>",
	} {
		parsed, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := payloadProxy(s.payload).For(parsed); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", target, got, err, want)
		}
	}
}
