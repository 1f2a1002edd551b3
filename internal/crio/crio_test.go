// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
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

func TestDecide(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		active        bool
		since, newest time.Time
		want          Action
	}{
		{false, time.Time{}, now, Start},
		{true, now, now.Add(-time.Second), NoAction},
		{true, now, now.Add(time.Second), Restart},
	} {
		if got := Decide(test.active, test.since, test.newest); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// CRI-O reads the host's trust store only when it starts.
func TestAddedCARestartsCRIO(t *testing.T) {
	root := t.TempDir()
	anchors := filepath.Join(root, TrustAnchorsDir)
	if err := os.MkdirAll(anchors, 0o700); err != nil {
		t.Fatal(err)
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	before, err := tree.NewestChange(InputPaths()...)
	if err != nil {
		t.Fatal(err)
	}
	started := before.Add(time.Nanosecond)
	if action := Decide(true, started, before); action != NoAction {
		t.Errorf("without a change: %s", action)
	}
	for _, change := range []func(string) error{
		func(name string) error { return os.WriteFile(name, []byte("CA"), 0o600) },
		func(name string) error { return os.WriteFile(name, []byte("renewed"), 0o600) },
		os.Remove,
	} {
		time.Sleep(20 * time.Millisecond) // longer than the resolution of file times
		if err := change(filepath.Join(anchors, "user-ca-bundle.crt")); err != nil {
			t.Fatal(err)
		}
		newest, err := tree.NewestChange(InputPaths()...)
		if action := Decide(true, started, newest); err != nil || action != Restart {
			t.Errorf("after a change at %s of a CRI-O of %s: %s, %v", newest, started, action, err)
		}
		started = newest
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
