// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Planned files replace those of the host, also through links, and only those with another content are changed.
func TestTreesWithPlannedFiles(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"etc/ssh/sshd_config": "Port 22\n", "etc/ssh/sshd_config.d/10-a.conf": "a\n", "etc/sudoers": "b\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	planned := Planned{Host: host, Files: []ledger.Change{
		ledger.FileChange("/etc/ssh/sshd_config", "", "Port 2222\n"),
		{Kind: ledger.File, Target: "/etc/ssh/sshd_config.d/10-a.conf"},
		ledger.FileChange("/etc/sudoers", "", "b\n"),
		{
			Kind: ledger.Symlink, Target: "/etc/pam.d/sshd",
			Desired: ledger.State{Present: true, Type: hostfs.Symlink, Link: "../ssh/sshd_config"},
		},
		ledger.FileChange("/etc/motd", "", "c\n"),
	}}
	before, after, changed := planned.trees()
	want := []string{"/etc/pam.d/sshd", "/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d/10-a.conf"}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if content, _ := before.ReadFile("/etc/ssh/sshd_config"); string(content) != "Port 22\n" {
		t.Errorf("before: %q", content)
	}
	if content, _ := after.ReadFile("/etc/pam.d/sshd"); string(content) != "Port 2222\n" {
		t.Errorf("through the link: %q", content)
	}
	if names := after.ReadDir("/etc/ssh/sshd_config.d"); len(names) != 0 {
		t.Errorf("names %q of a directory whose only file is removed", names)
	}
}

func TestUnitsThatEnd(t *testing.T) {
	planned := Planned{
		Units: []ledger.Change{
			{Kind: ledger.Unit, Target: "sshd.service", Desired: ledger.State{Present: true, Enabled: "disabled"}},
			{Kind: ledger.Unit, Target: "sshd.socket", Desired: ledger.State{Present: true, Enabled: "enabled"}},
		},
		Files: []ledger.Change{{
			Kind: ledger.Symlink, Target: "/etc/systemd/system/systemd-logind.service",
			Desired: ledger.State{Present: true, Link: "/dev/null"},
		}},
	}
	for name, want := range map[string]bool{
		"sshd.service": true, "systemd-logind.service": true, "sshd.socket": false, "dbus.socket": false,
	} {
		if got := planned.endsUnit(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
