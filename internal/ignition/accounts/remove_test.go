// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/test/mountns"
)

// A home that existed before its user stays, even if it belongs to the user's ID and contains nothing
// but the skeleton.
func TestUndoKeepsAHomeThatExistedBefore(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "home/core/.bashrc", baseFiles()["etc/skel/.bashrc"])
	give(t, m.root, "home/core", 1003, 1003)
	for range 2 { // of which the second finds the user
		if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","uid":1003}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	m.undo()
	if m.read("home/core/.bashrc") == "" || strings.Contains(m.read("etc/passwd"), "core:") {
		t.Errorf("passwd:\n%s", m.read("etc/passwd"))
	}
}

// userdel --remove would delete the mail of a user whose home directory is unused.
func TestUndoKeepsMail(t *testing.T) {
	for _, dir := range []string{"var/mail", "var/spool/mail", "srv/mail"} {
		t.Run(dir, func(t *testing.T) {
			m := newMachine(t)
			put(t, m.root, "etc/login.defs", strings.Replace(m.read("etc/login.defs"), "/var/spool/mail", "/"+dir, 1))
			if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"},{"name":"dora"}]}`)); err != nil {
				t.Fatal(err)
			}
			put(t, m.root, dir+"/core", "From y\n")
			give(t, m.root, dir+"/core", 1003, 12)
			m.undo()
			if m.read(dir+"/core") != "From y\n" || m.read("home/core/.bashrc") == "" {
				t.Error("the mail was changed")
			}
			files := strings.Join(listing(t, m.root), "\n")
			if strings.Contains(files, "home/dora") || strings.Contains(m.read("etc/passwd"), "core:") {
				t.Errorf("the users remain:\n%s", files)
			}
		})
	}
}

// userdel --remove would delete what is mounted in a home directory, even if it looks like the skeleton.
func TestUndoKeepsAHomeWithAMount(t *testing.T) {
	if !mountns.Isolate(t) {
		return
	}
	m := newMachine(t)
	put(t, m.root, "etc/skel/.config/empty", "")
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	put(t, m.root, "data/precious", "data")
	point := filepath.Join(m.root, "home/core/.config")
	if err := unix.Mount(filepath.Join(m.root, "data"), point, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	m.undo()
	if err := unix.Unmount(point, 0); err != nil {
		t.Fatal(err)
	}
	if m.read("data/precious") != "data" || m.read("home/core/.bashrc") == "" {
		t.Error("the home directory was changed")
	}
}
