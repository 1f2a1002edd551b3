package accounts

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func baseFacts() facts {
	db := database{}
	for _, name := range accountFiles() {
		db[name] = parseTable([]byte(baseFiles()["etc/"+name]))
	}
	return facts{
		db: db, defs: parseSettings(baseFiles()["etc/login.defs"], " \t"), unfinished: map[string]bool{},
		estates: map[string]estate{}, places: map[string]newHome{}, elsewhere: map[string]string{}, busy: map[string]int{},
	}
}

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		passwd string
		facts  func(f *facts)
		want   string // changes, one a word
	}{
		"nothing is wished of who is there": {passwd: `{"users":[{"name":"anna","sshAuthorizedKeys":["k"],"system":true,"noCreateHome":true}],"groups":[{"name":"ops"}]}`},
		"groups come first":                 {passwd: `{"users":[{"name":"u","primaryGroup":"g"}],"groups":[{"name":"g"}]}`, want: "group:g user:u"},
		"who is not there stays so":         {passwd: `{"users":[{"name":"u","shouldExist":false}]}`, want: "user:u"},
		"a home goes before its user": {
			passwd: `{"users":[{"name":"anna","shouldExist":false}]}`,
			facts: func(f *facts) {
				f.estates["anna"] = estate{
					Home: "/home/anna", Owner: 1000, Type: host.Directory, Mail: "/var/mail/anna", MailOwner: 1000,
					Entries: []ledger.Change{{Kind: ledger.File, Target: "/home/anna/x"}, {Kind: ledger.Directory, Target: "/home/anna"}},
				}
			},
			want: "file:/home/anna/x directory:/home/anna file:/var/mail/anna user:anna",
		},
		"a group by its number":          {passwd: `{"users":[{"name":"u","primaryGroup":"100"}]}`, want: "user:u"},
		"a group of a user before":       {passwd: `{"users":[{"name":"u"},{"name":"v","groups":["u"]}]}`, want: "user:u user:v"},
		"the same number again":          {passwd: `{"users":[{"name":"anna","uid":1000}],"groups":[{"name":"ops","gid":500}]}`, want: "group:ops user:anna"},
		"a number that was given free":   {passwd: `{"groups":[{"name":"ops","shouldExist":false},{"name":"g","gid":500}]}`, want: "group:ops group:g"},
		"no programs, nothing to do":     {passwd: `{"users":[{"name":"anna","gecos":"Anna"}]}`, facts: func(f *facts) { f.missing = programs() }, want: "user:anna"},
		"a run that was ended goes on":   {passwd: `{"users":[{"name":"anna"}]}`, facts: func(f *facts) { f.unfinished["user:anna"] = true }, want: "user:anna"},
		"who runs sudo, in an image":     {passwd: `{"users":[{"name":"anna","shouldExist":false}]}`, facts: func(f *facts) { f.sudoUser = "anna" }, want: "user:anna"},
		"a busy user whose shell is new": {passwd: `{"users":[{"name":"anna","shell":"/bin/sh"}]}`, facts: func(f *facts) { f.busy["anna"] = 7 }, want: "user:anna"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := baseFacts()
			if test.facts != nil {
				test.facts(&f)
			}
			changes, err := decide(parsePasswd(t, test.passwd), f)
			if err != nil {
				t.Fatal(err)
			}
			keys := make([]string, 0, len(changes))
			for _, c := range changes {
				keys = append(keys, c.Key())
			}
			if got := strings.Join(keys, " "); got != test.want {
				t.Errorf("changes %q, want %q", got, test.want)
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	live := func(f *facts) { f.live = true }
	home := func(e estate) func(f *facts) {
		return func(f *facts) { f.estates["anna"] = e }
	}
	place := func(p newHome) func(f *facts) {
		return func(f *facts) { f.places["anna"] = p }
	}
	const removed, moved = `{"users":[{"name":"anna","shouldExist":false}]}`, `{"users":[{"name":"anna","homeDir":"/srv/a"}]}`
	tests := map[string]struct {
		passwd string
		facts  func(f *facts)
		want   string
		code   report.Code
	}{
		"name that is an option":    {`{"users":[{"name":"-rf"}]}`, nil, `"-rf" is not a name for a user`, report.Usage},
		"name with a colon":         {`{"groups":[{"name":"a:b"}]}`, nil, `"a:b" is not a name for a group`, report.Usage},
		"name of digits":            {`{"users":[{"name":"1000"}]}`, nil, `"1000" is not a name`, report.Usage},
		"name that is too long":     {`{"users":[{"name":"` + strings.Repeat("a", 33) + `"}]}`, nil, "is not a name", report.Usage},
		"comment with a line":       {`{"users":[{"name":"u","gecos":"a\nroot::0:0"}]}`, nil, "gecos of the user u cannot", report.Usage},
		"shell that is no path":     {`{"users":[{"name":"u","shell":"bash"}]}`, nil, `shell "bash" of the user u`, report.Usage},
		"hash with a colon":         {`{"users":[{"name":"u","passwordHash":"a:b"}]}`, nil, "passwordHash of the user u", report.Usage},
		"hash with a line":          {`{"groups":[{"name":"g","passwordHash":"a\nroot:x"}]}`, nil, "passwordHash of the group g", report.Usage},
		"no such primary group":     {`{"users":[{"name":"u","primaryGroup":"nix"}]}`, nil, `the group "nix" of the user u does not exist`, report.Refused},
		"no such group":             {`{"users":[{"name":"anna","groups":["wheel","4711"]}]}`, nil, `the group "4711" of the user anna`, report.Refused},
		"group that is removed":     {`{"groups":[{"name":"ops","shouldExist":false}],"users":[{"name":"u","groups":["ops"]}]}`, nil, `the group "ops"`, report.Refused},
		"primary group is removed":  {`{"groups":[{"name":"users","shouldExist":false}]}`, nil, "it is the primary group of carl", report.Refused},
		"gid is taken":              {`{"groups":[{"name":"g","gid":500}]}`, nil, "the gid 500 of the group g is that of the group ops", report.Refused},
		"gid twice":                 {`{"groups":[{"name":"g","gid":900},{"name":"h","gid":900}]}`, nil, "the gid 900 of the group h is that of the group g", report.Refused},
		"uid is taken":              {`{"users":[{"name":"u","uid":1001}]}`, nil, "the uid 1001 of the user u is that of the user bert", report.Refused},
		"uid of an existing one":    {`{"users":[{"name":"anna","uid":1001}]}`, nil, "is that of the user bert", report.Refused},
		"root gets another uid":     {`{"users":[{"name":"root","uid":77}]}`, nil, "which is root, is not changed", report.Usage},
		"root is removed":           {`{"users":[{"name":"root","shouldExist":false}]}`, nil, "root, which is not removed", report.Usage},
		"own group is there":        {`{"users":[{"name":"ops"}]}`, nil, "there is one of that name", report.Usage},
		"own group is in config":    {`{"groups":[{"name":"u"}],"users":[{"name":"u"}]}`, nil, "there is one of that name", report.Usage},
		"who runs sudo":             {removed, func(f *facts) { live(f); f.sudoUser = "anna" }, "the user anna runs this program (by sudo)", report.Refused},
		"who is logged in":          {removed, func(f *facts) { f.busy["anna"] = 7 }, "its process 7 is running", report.Refused},
		"number of who is busy":     {`{"users":[{"name":"anna","uid":5000}]}`, func(f *facts) { f.busy["anna"] = 7 }, "its process 7 is running", report.Refused},
		"user of a directory":       {`{"users":[{"name":"u"}]}`, func(f *facts) { f.elsewhere["passwd u"] = "u" }, "from a directory service", report.Refused},
		"group of a directory":      {`{"groups":[{"name":"g"}]}`, func(f *facts) { f.elsewhere["group g"] = "g" }, "from a directory service", report.Refused},
		"uid of a directory":        {`{"users":[{"name":"u","uid":70000}]}`, func(f *facts) { f.elsewhere["passwd 70000"] = "eve" }, "is that of the user eve", report.Refused},
		"no shadow-utils":           {`{"users":[{"name":"u"}]}`, func(f *facts) { f.missing = []string{"useradd"} }, "missing: [useradd]", report.Refused},
		"home of somebody else":     {removed, home(estate{Home: "/h", Owner: 9, Type: host.Directory}), "belongs to somebody else (uid 9)", report.Refused},
		"home is a link":            {removed, home(estate{Home: "/h", Owner: 1000, Type: host.Symlink}), "is a link", report.Refused},
		"home has a mount":          {removed, home(estate{Home: "/h", Owner: 1000, Type: host.Directory, Mount: "/h/m"}), "mounted at /h/m", report.Refused},
		"home has a socket":         {removed, home(estate{Home: "/h", Owner: 1000, Type: host.Directory, Special: "/h/s"}), "special file", report.Refused},
		"home is too big":           {removed, home(estate{Home: "/h", Owner: 1000, Type: host.Directory, Bytes: maxHomeBytes + 1}), "holds more than", report.Refused},
		"home of two":               {removed, home(estate{Home: "/home", Owner: 1000, Type: host.Directory}), "the home of the user bert in it", report.Refused},
		"mail of somebody else":     {removed, home(estate{Mail: "/m", MailOwner: 9}), "the mail spool /m", report.Refused},
		"new home is there":         {moved, place(newHome{from: host.Directory, to: host.Directory, parent: true}), "something is there already", report.Refused},
		"new home without a parent": {moved, place(newHome{from: host.Directory}), "/srv does not exist", report.Refused},
		"new home far away":         {moved, place(newHome{from: host.Directory, parent: true, otherDevice: true}), "another file system", report.Refused},
		"home is a link, moved":     {moved, place(newHome{from: host.Symlink, parent: true}), "it is a link", report.Refused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := baseFacts()
			if test.facts != nil {
				test.facts(&f)
			}
			_, err := decide(parsePasswd(t, test.passwd), f)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code || report.RemedyOf(err) == "" {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "root:x") {
				t.Error("the hash is in the error")
			}
		})
	}
}

func TestProblemsAreToldAtOnce(t *testing.T) {
	passwd := parsePasswd(t, `{"groups":[{"name":"a:1"},{"name":"a:2"},{"name":"a:3"},{"name":"a:4"},{"name":"a:5"},{"name":"a:6"},{"name":"g","gid":500}]}`)
	_, err := decide(passwd, baseFacts())
	if err == nil || !strings.HasSuffix(err.Error(), "; and 2 more") || !strings.Contains(err.Error(), `"a:5"`) || strings.Contains(err.Error(), `"a:6"`) {
		t.Errorf("error %v", err)
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
