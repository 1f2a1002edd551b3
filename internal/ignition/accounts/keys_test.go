// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const annasKeys = "home/anna/.ssh/authorized_keys"

// On a running host no user may lose access.
func TestKeysAreAdded(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"anna","sshAuthorizedKeys":[
		"ssh-ed25519 AAAA1 anna@desk","ssh-ed25519 AAAA9 new\n# two\nssh-rsa AAAA8"]}]}`)
	m := newMachine(t)
	m.live = true
	before := visible(t, m.root)
	if _, err := m.apply(passwd); err != nil {
		t.Fatal(err)
	}
	const want = "ssh-ed25519 AAAA1 anna@desk\nssh-ed25519 AAAA9 new\n# two\nssh-rsa AAAA8\n"
	if got := m.read(annasKeys); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	copied := m.copy(t)
	put(t, copied.root, annasKeys, want+"ssh-rsa AAAA7 hers\n")
	if made, err := copied.apply(passwd); err != nil || len(made) > 0 {
		t.Errorf("a line that she added is a change: %v, %v", keysOnly(made), err)
	}
	copied.undo()
	if got, want := copied.read(annasKeys), "ssh-ed25519 AAAA1 anna@desk\nssh-rsa AAAA7 hers\n"; got != want {
		t.Errorf("undone, with a line of hers: %q, want %q", got, want)
	}
	m.undo()
	if after := visible(t, m.root); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Error("undone, the tree is another")
	}
}

func TestKeysAddedByAnotherUser(t *testing.T) {
	m := newMachine(t)
	m.live = true
	passwd := parsePasswd(t, `{"users":[{"name":"bert","sshAuthorizedKeys":["ssh-ed25519 AAAA9"]}]}`)
	if _, err := m.apply(passwd); err != nil {
		t.Fatal(err)
	}
	const file = "home/bert/.ssh/authorized_keys"
	put(t, m.root, file, m.read(file)+"ssh-rsa AAAA7 his\n")
	m.undo()
	if got := m.read(file); got != "ssh-rsa AAAA7 his\n" {
		t.Errorf("%q: his key is to stay, ours is to go", got)
	}
}

func TestReadsKeysFile(t *testing.T) {
	for settings, want := range map[string]bool{
		"port 22\nauthorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2\n": true,
		"authorizedkeysfile /etc/ssh/keys/%u %h/.ssh/authorized_keys\n":            true,
		"authorizedkeysfile /etc/ssh/keys/%u\n":                                    false,
		"authorizedkeysfile none\n":                                                false,
		"":                                                                         true,
	} {
		if got := readsKeysFile(settings); got != want {
			t.Errorf("%q: %t, want %t", settings, got, want)
		}
	}
}

// A command that is pasted must not change the running host's home.
func TestRemediesOfKeysNameThePathInTheTree(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"anna","sshAuthorizedKeys":["ssh-ed25519 AAAA9"]}]}`)
	for want, prepare := range map[string]func(root string) error{
		"chown 1000 ROOT/home/anna": func(root string) error {
			return os.Chown(filepath.Join(root, "home/anna"), 0, 0)
		},
		"chown 1000 ROOT/home/anna/.ssh": func(root string) error {
			return os.Chown(filepath.Join(root, "home/anna/.ssh"), 0, 0)
		},
		"install -d -o 1000 ROOT/home/anna": func(root string) error {
			return os.RemoveAll(filepath.Join(root, "home/anna"))
		},
	} {
		m := newMachine(t)
		if err := prepare(m.root); err != nil {
			t.Fatal(err)
		}
		_, err := m.apply(passwd)
		if got := strings.ReplaceAll(string(report.RemedyOf(err)), m.root, "ROOT"); got != want {
			t.Errorf("%v: remedy %q, want %q", err, got, want)
		}
	}
}

// Whatever a user has put into its home, root follows no link out of it.
func TestKeysFollowNoLink(t *testing.T) {
	for name, prepare := range map[string]func(root string) error{
		"directory is a link": func(root string) error {
			return replace(filepath.Join(root, "home/anna/.ssh"), "/root")
		},
		"directory is a link in the home": func(root string) error {
			return replace(filepath.Join(root, "home/anna/.ssh"), "../bert")
		},
		"file is a link": func(root string) error {
			return replace(filepath.Join(root, annasKeys), "/etc/shadow")
		},
		"directory of root": func(root string) error {
			return os.Chown(filepath.Join(root, "home/anna/.ssh"), 0, 0)
		},
		"home of root": func(root string) error {
			return os.Chown(filepath.Join(root, "home/anna"), 0, 0)
		},
		"no home": func(root string) error {
			return os.RemoveAll(filepath.Join(root, "home/anna"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if err := prepare(m.root); err != nil {
				t.Fatal(err)
			}
			before := strings.Join(listing(t, m.root), "\n")
			// core would be made before; its change must not be, either.
			passwd := parsePasswd(t, `{"users":[{"name":"core"},
				{"name":"anna","sshAuthorizedKeys":["ssh-ed25519 AAAA9"]}]}`)
			_, err := m.apply(passwd)
			if err == nil || report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "" ||
				!strings.Contains(err.Error(), "the SSH keys of the user anna were not written") {
				t.Errorf("error %v", err)
			}
			if strings.Join(listing(t, m.root), "\n") != before {
				t.Error("something was changed")
			}
		})
	}
}

func replace(file, target string) error {
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	if err := os.Symlink(target, file); err != nil {
		return err
	}
	return os.Lchown(file, 1000, 1000) // anna's
}

// The user swaps the directory for a link after the plan was made.
func TestKeysAreNotLedAway(t *testing.T) {
	m := newMachine(t)
	passwd := parsePasswd(t, `{"users":[{"name":"anna","sshAuthorizedKeys":["ssh-ed25519 AAAA9"]}]}`)
	tree, err := hostfs.OpenTree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	changes, err := Plan(t.Context(), Input{Passwd: passwd, Tree: tree, Live: true})
	if err != nil || len(changes) != 2 {
		t.Fatalf("%v, %v", changes, err)
	}
	for _, target := range []string{"/root", "../../root", filepath.Join(m.root, "root")} {
		if err := replace(filepath.Join(m.root, "home/anna/.ssh"), target); err != nil {
			t.Fatal(err)
		}
		driver := &keyLines{paths: &ledger.Paths{Tree: tree}}
		now, err := driver.Get(t.Context(), changes[1])
		if err == nil {
			err = driver.Set(t.Context(), changes[1], now)
		}
		if err == nil {
			t.Errorf("%s: the link was not noticed", target)
		}
		if entries, err := os.ReadDir(filepath.Join(m.root, "root")); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v was written outside of the home, %v", target, entries, err)
		}
	}
}
