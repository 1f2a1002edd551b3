// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func settingsOf(service string) unitSettings {
	settings := unitSettings{}
	settings.add("[Service]\n" + service)
	return settings
}

// The hint is in the file of the payload's unit, or a drop-in sets it. systemd reads the files after all variables.
func TestReadHint(t *testing.T) {
	const unit, dropIn = "nodeip-configuration.service", "nodeip-configuration.service.d/10-hint.conf"
	const payload = "[Service]\nExecStart=/bin/bash -c \" \\\n  node-ip set ${NODEIP_HINT}\"\nEnvironmentFile=-DIR/hint\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":  {nil, ""},
		"no unit":  {map[string]string{"hint": "NODEIP_HINT=10.40.0.1\n"}, "10.40.0.1"},
		"quoted":   {map[string]string{unit: payload, "hint": "NODEIP_HINT='10.40.0.1 fd00::1'\n"}, "10.40.0.1 fd00::1"},
		"old name": {map[string]string{unit: payload, "hint": "NODEIP_HINT=\nKUBELET_NODEIP_HINT=10.40.0.1\n"}, "10.40.0.1"},
		"drop-in": {
			map[string]string{unit: payload, dropIn: "[Service]\nEnvironment=A=b \"NODEIP_HINT=10.40.0.1 fd00::1\"\n"},
			"10.40.0.1 fd00::1",
		},
		"comment": {map[string]string{unit: payload, dropIn: "[Service]\n; Environment=NODEIP_HINT=10.40.0.1\n"}, ""},
		"drop-in and file": {
			map[string]string{
				unit: payload, dropIn: "[Service]\nEnvironment=NODEIP_HINT=10.40.0.1\n", "hint": "NODEIP_HINT=192.0.2.1\n",
			},
			"192.0.2.1",
		},
		"another file": {
			map[string]string{
				unit: payload, dropIn: "[Service]\nEnvironmentFile=DIR/site\n", "site": "NODEIP_HINT=10.40.0.1\n",
				"hint": "NODEIP_HINT=192.0.2.1\n",
			},
			"10.40.0.1",
		},
		"the file removed": {
			map[string]string{
				unit: payload, dropIn: "[Service]\nEnvironmentFile=\n", "hint": "NODEIP_HINT=192.0.2.1\n",
			},
			"",
		},
	} {
		dir := t.TempDir()
		for file, content := range test.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "DIR", dir)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		hint, err := readHint(filepath.Join(dir, unit), filepath.Join(dir, "hint"))
		if err != nil || hint != test.want {
			t.Errorf("%s: %q, %v; want %q", name, hint, err, test.want)
		}
	}
}

// A drop-in replaces the command.
func TestPrefersIPv6OfDropIn(t *testing.T) {
	dir := t.TempDir()
	unit := filepath.Join(dir, "nodeip-configuration.service")
	for i, file := range []struct {
		path, content string
		want          bool
	}{
		{unit, "[Service]\nExecStart=/bin/podman run IMAGE node-ip set --retry-on-failure\n", false},
		{unit + ".d/10-a.conf", "[Service]\nExecStart=\nExecStart=/bin/podman run IMAGE node-ip set --prefer-ipv6\n", true},
		{unit + ".d/20-b.conf", "[Service]\nExecStart=\nExecStart=/bin/podman run IMAGE node-ip set\n", false},
	} {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file.path, []byte(file.content), 0o600); err != nil {
			t.Fatal(err)
		}
		settings, err := readUnit(unit)
		if err != nil || prefersIPv6(settings) != file.want {
			t.Errorf("after %d files: %t, %v", i+1, !file.want, err)
		}
	}
}

func TestHasAddress(t *testing.T) {
	for hint, want := range map[string]bool{
		"192.0.2.1": true, "fd00::1": true, "192.0.2.1,fd00::1": true, "192.0.2.0/24": false, "eth0": false, "": false,
	} {
		if HasAddress(hint) != want {
			t.Errorf("%q: %t", hint, !want)
		}
	}
}
