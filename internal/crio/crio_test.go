// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const shippedConfig = `
[crio.image]
pause_image = "registry.example.com/shipped@sha256:1"
[crio.runtime]
default_runtime = "crun"
`

const payloadConfig = `
[crio.image]
pause_image = "registry.example.com/release@sha256:2"
pause_image_auth_file = "/var/lib/kubelet/config.json"
pause_command = "/usr/bin/pod"
[crio.network]
network_dir = "/etc/kubernetes/cni/net.d/"
`

func TestLaterFileOverridesEarlier(t *testing.T) {
	got, err := Parse([]byte(shippedConfig), []byte(payloadConfig))
	want := Config{
		PauseImage: "registry.example.com/release@sha256:2", PauseCommand: "/usr/bin/pod",
		PauseAuthFile: "/var/lib/kubelet/config.json", NetworkDir: "/etc/kubernetes/cni/net.d/", Runtime: "crun",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := Parse([]byte("not toml")); err == nil {
		t.Error("a file that is not TOML is no error")
	}
}

func TestDropInRoundTrip(t *testing.T) {
	want := Config{PauseImage: `odd "name" \ here`, PauseCommand: "/usr/bin/pod", PauseAuthFile: "/a"}
	got, err := Parse([]byte(shippedConfig), render(want))
	want.Runtime = "crun"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDesired(t *testing.T) {
	if got, err := Desired(Config{PauseImage: "a"}, "b"); err != nil || got.PauseImage != "b" {
		t.Errorf("the given image does not win: %v, %v", got, err)
	}
	if _, err := Desired(Config{}, ""); report.CodeOf(err) != report.Refused {
		t.Errorf("no pause image at all: %v", err)
	}
}

func TestVerifyNamesTheSetting(t *testing.T) {
	wanted := Config{PauseImage: "a", NetworkDir: "/n"}
	if err := Verify(Config{PauseImage: "a", NetworkDir: "/n", PauseCommand: "/x"}, wanted); err != nil {
		t.Error(err)
	}
	err := Verify(Config{PauseImage: "b", NetworkDir: "/n"}, wanted)
	var failure *report.Failure
	if !errors.As(err, &failure) || err.Error() != `CRI-O runs with pause_image "b" instead of "a"` {
		t.Errorf("%v", err)
	}
}

// overlaySize of a ContainerRuntimeConfig becomes the size in storage.conf.
func TestOverlaySize(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"no file":           {"", ""},
		"the release's":     {"[storage]\ndriver = \"overlay\"\n[storage.options]\nsize = \"\"\n", ""},
		"set":               {"[storage.options]\nsize = \"8Gi\"\n", "8Gi"},
		"set for overlay":   {"[storage.options.overlay]\nsize = \"10G\"\n", "10G"},
		"none":              {"[storage.options]\nsize = \"0\"\n", ""},
		"no TOML, as CRI-O": {"[", ""},
	} {
		if got := OverlaySize([]byte(test.content)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
