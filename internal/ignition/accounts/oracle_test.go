// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scenario is a config, and what Ignition runs for it; an argument is ended
// by a |.
type scenario struct {
	passwd   string
	ignition []string
	// keys are files that Ignition writes itself: path, owner, content.
	keys []keyFile
}

type keyFile struct {
	path     string
	uid, gid int
	content  string
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"new user": {
			passwd:   `{"users":[{"name":"core"}]}`,
			ignition: []string{"useradd|--root|ROOT|--create-home|--password|*|core"},
		},
		"new user with all fields": {
			passwd: `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"}],
				"users":[{"name":"core","uid":2000,"gecos":"CoreOS Admin","homeDir":"/var/home/core","shell":"/bin/zsh",
				"groups":["wheel","team"],"primaryGroup":"users","passwordHash":"$6$c$c"}]}`,
			ignition: []string{
				"groupadd|--root|ROOT|--gid|3000|--password|$6$g$g|team",
				"useradd|--root|ROOT|--home-dir|/var/home/core|--create-home|--password|$6$c$c|--uid|2000|" +
					"--comment|CoreOS Admin|--gid|users|--groups|wheel,team|--shell|/bin/zsh|core",
				"usermod|--root|ROOT|--password|$6$c$c|core",
			},
		},
		"system user and group without a home": {
			passwd: `{"groups":[{"name":"daemons","system":true}],
				"users":[{"name":"svc","system":true,"noCreateHome":true,"noUserGroup":true,
				"noLogInit":true,"primaryGroup":"daemons","shell":"/sbin/nologin"}]}`,
			ignition: []string{
				"groupadd|--root|ROOT|--system|daemons",
				"useradd|--root|ROOT|--no-create-home|--no-user-group|--system|--no-log-init|--password|*|" +
					"--gid|daemons|--shell|/sbin/nologin|svc",
			},
		},
		"no group of its own": {
			passwd: `{"users":[{"name":"lone","noUserGroup":true,"groups":["ops"]},{"name":"two","primaryGroup":"1500"}]}`,
			ignition: []string{
				"useradd|--root|ROOT|--create-home|--no-user-group|--password|*|--groups|ops|lone",
				"useradd|--root|ROOT|--create-home|--password|*|--gid|1500|two",
			},
		},
		"empty hash": {
			passwd:   `{"users":[{"name":"core","passwordHash":""}]}`,
			ignition: []string{"useradd|--root|ROOT|--create-home|--password|*|core", "usermod|--root|ROOT|--password|*|core"},
		},
		"one after the other": {
			passwd: `{"groups":[{"name":"a"}],"users":[{"name":"b","groups":["a"]},{"name":"c","primaryGroup":"b"}]}`,
			ignition: []string{
				"groupadd|--root|ROOT|a",
				"useradd|--root|ROOT|--create-home|--password|*|--groups|a|b",
				"useradd|--root|ROOT|--create-home|--password|*|--gid|b|c",
			},
		},
		"keys": {
			passwd: `{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA2 core","ssh-rsa AAAA3"]},
				{"name":"anna","sshAuthorizedKeys":["ssh-ed25519 AAAA4"]}]}`,
			ignition: []string{"useradd|--root|ROOT|--create-home|--password|*|core"},
			keys: []keyFile{
				{"/home/core/.ssh/authorized_keys", 1003, 1003, "ssh-ed25519 AAAA2 core\nssh-rsa AAAA3\n"},
				{"/home/anna/.ssh/authorized_keys", 1000, 1000, "ssh-ed25519 AAAA4\n"},
			},
		},
	}
}

// reference makes the tree that Ignition makes.
func (s scenario) reference(t *testing.T) []string {
	t.Helper()
	root := newRoot(t)
	oracle(t, root, s.ignition...)
	for _, key := range s.keys {
		file := filepath.Join(root, key.path)
		dir := filepath.Dir(file)
		if _, err := os.Stat(dir); err != nil {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			give(t, root, filepath.Dir(key.path), key.uid, key.gid)
		}
		if err := os.WriteFile(file, []byte(key.content), 0o600); err != nil {
			t.Fatal(err)
		}
		give(t, root, key.path, key.uid, key.gid)
	}
	return visible(t, root)
}

// The tree must be the one that the commands of Ignition make, and a second run
// must find nothing to do.
func TestApplyIsIgnitions(t *testing.T) {
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			before := visible(t, m.root)
			passwd := parsePasswd(t, s.passwd)
			if _, err := m.apply(passwd); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.reference(t), visible(t, m.root)); diff != "" {
				t.Errorf("(-Ignition +ours):\n%s", diff)
			}
			after := listing(t, m.root)
			made, err := m.apply(passwd)
			if err != nil || len(made) > 0 {
				t.Errorf("again: %v, %v", keysOnly(made), err)
			}
			if diff := cmp.Diff(after, listing(t, m.root)); diff != "" {
				t.Errorf("again (-before +after):\n%s", diff)
			}
			if outcome := m.undo(); len(outcome.Kept) > 0 {
				t.Errorf("kept %v", outcome.Kept)
			}
			if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
				t.Errorf("undone (-before +after):\n%s", diff)
			}
		})
	}
}
