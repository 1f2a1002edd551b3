// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func baseDatabase() database {
	db := database{}
	for name, content := range baseFiles() {
		db["/"+name] = table{lines: strings.Split(strings.TrimSuffix(content, "\n"), "\n")}
	}
	return db
}

func TestDecide(t *testing.T) {
	tests := map[string]struct{ passwd, want, now string }{
		"new user": {
			passwd: `{"users":[{"name":"u","uid":4000,"groups":["wheel","ops"],"shell":"/bin/sh","system":true,"noCreateHome":true}]}`,
			want:   "user:u uid=4000; shell=/bin/sh; groups=ops,wheel; system; no-create-home",
		},
		"existing user": {
			passwd: `{"users":[{"name":"anna","gecos":"A; N.","homeDir":"/home/anna/","primaryGroup":"1000","passwordHash":""}]}`,
			want:   "user:anna gecos=A; N.; home=/home/anna/; primary-group=1000; password=sha256:" + digest("*"),
			now:    "gecos=Anna; home=/home/anna/; primary-group=1000; password=sha256:" + digest("$6$aa$aa"),
		},
		"groups come first": {
			passwd: `{"users":[{"name":"u"}],"groups":[{"name":"ops","gid":501},{"name":"empty","shouldExist":false}]}`,
			want:   "group:ops gid=501 | group:empty | user:u ",
			now:    "gid=500",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changes, err := decide(parsePasswd(t, test.passwd), baseDatabase(), true)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, c := range changes {
				texts = append(texts, strings.TrimSuffix(c.Key()+" "+c.Desired.Value, " "))
			}
			if got := strings.Join(texts, " | "); got != strings.TrimSuffix(test.want, " ") {
				t.Errorf("changes %q, want %q", got, test.want)
			}
			if now := strings.Join(baseDatabase().fields(changes[0]), "; "); test.now != "" && now != test.now {
				t.Errorf("now %q, want %q", now, test.now)
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	tests := map[string]struct {
		passwd string
		image  bool // it is no problem in an image
		want   string
		remedy string
		code   report.Code
	}{
		"name that is an option": {passwd: `{"users":[{"name":"-rf"}]}`, want: `"-rf" is not a valid name for a user`, code: report.Usage},
		"name with a colon":      {passwd: `{"groups":[{"name":"a:b"}]}`, want: `"a:b" is not a valid name for a group`, code: report.Usage},
		"hash with a colon":      {passwd: `{"users":[{"name":"u","passwordHash":"a:b"}]}`, want: "passwordHash of the user u", code: report.Usage},
		"hash with a line":       {passwd: `{"groups":[{"name":"g","passwordHash":"a\nroot:x"}]}`, want: "passwordHash of the group g", code: report.Usage},
		"primary group":          {passwd: `{"groups":[{"name":"users","shouldExist":false}]}`, want: "it is the primary group of carl", code: report.Refused},
		"existing user is removed": {
			passwd: `{"users":[{"name":"anna","shouldExist":false}]}`, image: true,
			want: "join does not remove users", remedy: "userdel --remove anna # ", code: report.Refused,
		},
		"existing user moves": {
			passwd: `{"users":[{"name":"anna","homeDir":"/srv/a b","uid":7,"primaryGroup":"users","shell":"/bin/sh"}]}`, image: true,
			want: "join does not change the home directory, UID or primary group", code: report.Refused,
			remedy: "usermod --move-home --home '/srv/a b' --uid 7 --gid users anna # ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := decide(parsePasswd(t, test.passwd), baseDatabase(), true)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code {
				t.Errorf("error %v, code %d", err, report.CodeOf(err))
			}
			if remedy := report.RemedyOf(err); remedy == "" || !strings.HasPrefix(string(remedy), test.remedy) {
				t.Errorf("remedy %q, want %q", remedy, test.remedy)
			}
			if err != nil && strings.Contains(err.Error(), "root:x") {
				t.Error("the hash is in the error")
			}
			if _, err := decide(parsePasswd(t, test.passwd), baseDatabase(), false); (err == nil) != test.image {
				t.Errorf("in an image: %v", err)
			}
		})
	}
}

func TestAnnounced(t *testing.T) {
	base := func(name string) (int, bool) { return 7, name == "old" || name == "gone" }
	users, groups := Announced(parsePasswd(t, `{"groups":[{"name":"g","gid":44},{"name":"gone","shouldExist":false}],
		"users":[{"name":"u"},{"name":"v","uid":55,"noUserGroup":true},{"name":"gone","shouldExist":false}]}`), base, base)
	tests := []struct {
		lookup Lookup
		name   string
		id     int
		known  bool
	}{
		{users, "old", 7, true},
		{users, "u", -1, true},
		{users, "v", 55, true},
		{users, "gone", 0, false},
		{users, "x", 0, false},
		{groups, "g", 44, true},
		{groups, "u", -1, true},
		{groups, "v", 0, false},
		{groups, "gone", 0, false},
		{groups, "old", 7, true},
	}
	for _, test := range tests {
		if id, known := test.lookup(test.name); id != test.id || known != test.known {
			t.Errorf("%s: %d, %t; want %d, %t", test.name, id, known, test.id, test.known)
		}
	}
}
