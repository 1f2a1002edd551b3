// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestHasContent(t *testing.T) {
	for _, name := range []string{"blkid", "mkswap"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	device := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(device, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if HasContent(t.Context(), device) {
		t.Error("an empty device has content")
	}
	if out, err := exec.CommandContext(t.Context(), "mkswap", device).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !HasContent(t.Context(), device) {
		t.Error("a device with swap space has no content")
	}
	if HasContent(t.Context(), device+".absent") {
		t.Error("an absent device has content")
	}
}

func TestDeviceOf(t *testing.T) {
	for source, want := range map[string]string{
		"/dev/vdb":          "/dev/vdb",
		"UUID=1-2":          "/dev/disk/by-uuid/1-2",
		`LABEL=my\040data`:  `/dev/disk/by-label/my\x20data`,
		`PARTLABEL="var"`:   "/dev/disk/by-partlabel/var",
		"nas:/x":            "",
		"tmpfs":             "",
		"overlay=/dev/null": "",
	} {
		if got := DeviceOf(source); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
