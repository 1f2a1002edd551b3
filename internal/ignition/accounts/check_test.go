// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestRefusedAccountsChangeNothing(t *testing.T) {
	tests := map[string]struct {
		passwd string
		want   string
		remedy string // ROOT stands for the path of the tree
		code   report.Code
	}{
		"name that is an option": {
			passwd: `{"users":[{"name":"-rf"}]}`,
			want:   `"-rf" is not a valid name for a user`, remedy: "# use a name", code: report.Usage,
		},
		"name with a colon": {
			passwd: `{"groups":[{"name":"a:b"}]}`,
			want:   `"a:b" is not a valid name for a group`, remedy: "# use a name", code: report.Usage,
		},
		"hash with a colon": {
			passwd: `{"users":[{"name":"u","passwordHash":"a:b"}]}`,
			want:   "passwordHash of the user u", remedy: "# use a hash", code: report.Usage,
		},
		"hash with a line": {
			passwd: `{"groups":[{"name":"g","passwordHash":"a\nroot:x"}]}`,
			want:   "passwordHash of the group g", remedy: "# use a hash", code: report.Usage,
		},
		"existing user is removed": {
			passwd: `{"users":[{"name":"anna","shouldExist":false}]}`,
			want:   "user anna exists, and the agent does not remove existing users",
			remedy: "userdel --remove --root ROOT anna # ", code: report.Refused,
		},
		"existing group is removed": {
			passwd: `{"groups":[{"name":"empty","shouldExist":false}]}`,
			want:   "group empty exists, and the agent does not remove existing users and groups",
			remedy: "groupdel --root ROOT empty # ", code: report.Refused,
		},
		"existing user has other settings": {
			passwd: `{"users":[{"name":"new"},{"name":"anna","uid":7,"primaryGroup":"users","shell":"/bin/sh",
				"gecos":"A; N.","groups":["wheel","ops"],"passwordHash":"$6$x$x"}]}`,
			want: "user anna exists, and the agent does not change its settings; " +
				"the config sets another uid, gecos, primaryGroup, groups, shell, passwordHash",
			remedy: "usermod --uid 7 --comment 'A; N.' --gid users --groups ops,wheel --shell /bin/sh --root ROOT anna # ",
			code:   report.Refused,
		},
		"existing user has another home directory": {
			passwd: `{"users":[{"name":"anna","homeDir":"/srv/a b"}]}`,
			want:   "the config sets another homeDir",
			remedy: "usermod -d '/srv/a b' --root ROOT anna # ", code: report.Refused,
		},
		"existing user has another password": {
			passwd: `{"users":[{"name":"anna","passwordHash":""}]}`,
			want:   "the config sets another passwordHash",
			remedy: "# set the password hash, or exclude the user from the config", code: report.Refused,
		},
		"existing group has another number": {
			passwd: `{"groups":[{"name":"ops","gid":501}]}`,
			want:   "group ops exists, and the agent does not change its settings; the config sets another gid",
			remedy: "groupmod --gid 501 --root ROOT ops # ", code: report.Refused,
		},
		"new user whose primary group would be removed with it": {
			passwd: `{"users":[{"name":"empty","primaryGroup":"empty"}]}`,
			want:   "the new user empty cannot have the existing group of its name as primary group",
			remedy: "# use another primary group", code: report.Refused,
		},
	}
	for name, test := range tests {
		for _, live := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				m := newMachine(t)
				m.live = live
				before := strings.Join(listing(t, m.root), "\n")
				_, err := m.apply(parsePasswd(t, test.passwd))
				if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code {
					t.Errorf("error %v, code %d", err, report.CodeOf(err))
				}
				remedy := strings.ReplaceAll(string(report.RemedyOf(err)), m.root, "ROOT")
				if remedy == "" || !strings.HasPrefix(remedy, test.remedy) {
					t.Errorf("remedy %q, want %q", remedy, test.remedy)
				}
				if text := err.Error() + remedy; strings.Contains(text, "root:x") || strings.Contains(text, "$6$") {
					t.Error("a hash is in the error")
				}
				if strings.Join(listing(t, m.root), "\n") != before {
					t.Error("something was changed")
				}
			})
		}
	}
}

// An existing account that is as in the config is not changed and not recorded.
func TestExistingAccountsThatMatch(t *testing.T) {
	m := newMachine(t)
	before := strings.Join(listing(t, m.root), "\n")
	made, err := m.apply(parsePasswd(t, `{"groups":[{"name":"ops","gid":500},{"name":"gone","shouldExist":false}],
		"users":[{"name":"anna","uid":1000,"gecos":"Anna","homeDir":"/home/anna/","shell":"/bin/bash",
			"primaryGroup":"1000","groups":["wheel"],"passwordHash":"$6$aa$aa","system":true},
			{"name":"bert","groups":["ops","wheel"],"primaryGroup":"bert"},{"name":"gone","shouldExist":false}]}`))
	if err != nil || len(made) > 0 {
		t.Errorf("%v, %v", keysOnly(made), err)
	}
	if strings.Join(listing(t, m.root), "\n") != before {
		t.Error("something was changed")
	}
}

func TestAnnounced(t *testing.T) {
	base := map[string]int{"old": 7}
	users, groups := Announced(parsePasswd(t, `{"groups":[{"name":"g","gid":44},{"name":"never","shouldExist":false}],
		"users":[{"name":"u"},{"name":"v","uid":55,"noUserGroup":true},{"name":"never","shouldExist":false}]}`), base, base)
	tests := []struct {
		ids   map[string]int
		name  string
		id    int
		known bool
	}{
		{users, "old", 7, true},
		{users, "u", -1, true},
		{users, "v", 55, true},
		{users, "never", 0, false},
		{users, "x", 0, false},
		{groups, "g", 44, true},
		{groups, "u", -1, true},
		{groups, "v", 0, false},
		{groups, "never", 0, false},
		{groups, "old", 7, true},
	}
	for _, test := range tests {
		if id, known := test.ids[test.name]; id != test.id || known != test.known {
			t.Errorf("%s: %d, %t; want %d, %t", test.name, id, known, test.id, test.known)
		}
	}
}
