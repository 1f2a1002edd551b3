// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func keysOfItems(kept []ledger.Difference) string {
	var keys []string
	for _, d := range kept {
		keys = append(keys, d.Key())
	}
	return strings.Join(keys, " ")
}

// An undo removes only what the agent created; accounts and lines of others stay.
func TestUndoKeepsAccountsOfOthers(t *testing.T) {
	m := newMachine(t)
	files := baseFiles()
	config := parsePasswd(t, `{"groups":[{"name":"team"}],"users":[{"name":"core","groups":["wheel","users"]}]}`)
	if _, err := m.apply(config); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "useradd|--root|ROOT|--uid|7000|--no-create-home|--groups|wheel|dora",
		"usermod|--root|ROOT|--comment|Carl|--password|$6$new$new|carl")
	config = parsePasswd(t, `{"groups":[{"name":"team"},{"name":"later"}],"users":[{"name":"core"}]}`)
	if _, err := m.apply(config); err != nil {
		t.Fatal(err)
	}
	if kept := keysOfItems(m.undo().Kept); kept != "" {
		t.Errorf("kept %q", kept)
	}
	passwd := strings.Replace(files["etc/passwd"], "100::/srv/carl", "100:Carl:/srv/carl", 1)
	if diff := cmp.Diff(passwd+"dora:x:7000:7000::/home/dora:/bin/bash\n", m.read("etc/passwd")); diff != "" {
		t.Errorf("passwd (-want +got):\n%s", diff)
	}
	group := strings.Replace(files["etc/group"], "anna,bert,carl", "anna,bert,carl,dora", 1)
	if diff := cmp.Diff(group+"dora:x:7000:\n", m.read("etc/group")); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	shadow := m.read("etc/shadow")
	if !strings.Contains(shadow, "carl:$6$new$new:") || strings.Contains(shadow, "core:") {
		t.Errorf("shadow:\n%s", shadow)
	}
	if gshadow := m.read("etc/gshadow"); strings.Contains(gshadow, "core") || strings.Contains(gshadow, "team") {
		t.Errorf("gshadow:\n%s", gshadow)
	}
}

// A group that is the primary one of another user now is not removed.
func TestUndoOfAGroupInUse(t *testing.T) {
	m := newMachine(t)
	before := visible(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"team"}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--gid|team|carl")
	err := m.undoErr()
	if err == nil || !strings.Contains(err.Error(), "primary group of user 'carl'") || report.RemedyOf(err) == "" {
		t.Fatalf("error %v", err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--gid|users|carl")
	m.undo()
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A user whose password another process has changed stays, if the config sets one.
func TestUndoKeepsAUserWithAnotherPassword(t *testing.T) {
	m := newMachine(t)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","passwordHash":"$6$c$c"}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--password|$6$new$new|core")
	if kept := keysOfItems(m.undo().Kept); kept != "user:core" {
		t.Errorf("kept %q", kept)
	}
	for file, want := range map[string]string{
		"etc/passwd": "core:x:1003:1003:",
		"etc/shadow": "core:$6$new$new:",
		"etc/group":  "core:x:1003:",
	} {
		if !strings.Contains(m.read(file), want) {
			t.Errorf("%s lacks %s", file, want)
		}
	}
}

// The hash of a user that the agent created follows the config; its other settings
// do not.
func TestCreatedUserGetsAnotherPassword(t *testing.T) {
	m := newMachine(t)
	before := visible(t, m.root)
	for _, hash := range []string{"$6$a$a", "$6$b$b"} {
		if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","passwordHash":"`+hash+`"}]}`)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.read("etc/shadow"), "core:"+hash+":") {
			t.Errorf("the hash is not %s:\n%s", hash, m.read("etc/shadow"))
		}
	}
	_, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","shell":"/bin/sh"}]}`))
	if report.CodeOf(err) != report.Refused {
		t.Errorf("another shell: %v", err)
	}
	m.undo()
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A home holds what its user has put there: it stays, unless it is to be purged.
func TestUndoKeepsUsedHomes(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "etc/skel/.config/app/settings", "a=1\n")
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","homeDir":"/var/home/core"}]}`)); err != nil {
		t.Fatal(err)
	}
	put(t, m.root, "var/home/core/.bashrc", "# mine\n")
	put(t, m.root, "var/spool/mail/core", "From y\n")
	purged := m.copy(t)
	purged.purge = true
	for _, m := range []*machine{m, purged} {
		m.undo()
		var left []string
		for _, line := range listing(t, m.root) {
			name, _, _ := strings.Cut(line, " ")
			if strings.HasPrefix(name, "/var/home/core/.bashrc") || name == "/var/home" || name == "/var/spool/mail/core" {
				left = append(left, name)
			}
		}
		want := "/var/home /var/home/core/.bashrc /var/spool/mail/core"
		if m.purge {
			want = "/var/spool/mail/core"
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("purge %t: left %s, want %s", m.purge, got, want)
		}
		if strings.Contains(m.read("etc/passwd")+m.read("etc/group")+m.read("etc/shadow")+m.read("etc/gshadow"), "core") {
			t.Error("the user exists")
		}
	}
}

// An existing home stays as it is.
func TestExistingHome(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "home/core/old", "x")
	put(t, m.root, "var/spool/mail/core", "")
	give(t, m.root, "home/core", 77, 77)
	before := visible(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	m.purge = true
	m.undo()
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A password that was set since is not removed by a second run, not even if the
// first run was killed.
func TestSecondRunKeepsAPassword(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"core"},{"name":"dora"}]}`)
	for _, first := range []int{1, 100} { // changes that the first run makes
		m := newMachine(t)
		left := first
		m.around = endAfter(&left)
		if _, err := m.apply(passwd); (err == nil) != (first == 100) {
			t.Fatal(err)
		}
		m.around = nil
		oracle(t, m.root, "usermod|--root|ROOT|--password|$6$new$new|core")
		if _, err := m.apply(passwd); err != nil || !strings.Contains(m.read("etc/shadow"), "core:$6$new$new:") {
			t.Errorf("%d: %v, %s", first, err, m.read("etc/shadow"))
		}
	}
}

// A run can be killed before a command, between two of them, and before the ledger
// has recorded the result: the next run completes the accounts, and an undo removes
// what was created.
func TestKilledBetweenCommands(t *testing.T) {
	passwd := parsePasswd(t, allCommands)
	for killedAt := range 4 {
		m := newMachine(t)
		m.live = true
		before := visible(t, m.root)
		left := killedAt
		m.around = endAfter(&left)
		if _, err := m.apply(passwd); !errors.Is(err, errEnded) {
			t.Fatalf("%d: %v", killedAt, err)
		}
		m.around = nil
		again := m.copy(t)
		for _, m := range []*machine{m, again} {
			if m == again {
				if _, err := m.apply(passwd); err != nil {
					t.Errorf("%d: again: %v", killedAt, err)
				}
				if shadow := m.read("etc/shadow"); !strings.Contains(shadow, "core:$6$c$c:") {
					t.Errorf("%d: again: shadow:\n%s", killedAt, shadow)
				}
			}
			if outcome := m.undo(); len(outcome.Kept) > 0 {
				t.Errorf("%d: kept %v", killedAt, outcome.Kept)
			}
			if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
				t.Errorf("%d: undone (-before +after):\n%s", killedAt, diff)
			}
		}
	}
}

// A useradd that was interrupted itself is reported with the command that makes
// way for the next run, and can be undone.
func TestUserMadeInPart(t *testing.T) {
	m := newMachine(t)
	passwd := parsePasswd(t, `{"users":[{"name":"core"}]}`)
	left := 0
	m.around = endAfter(&left)
	if _, err := m.apply(passwd); !errors.Is(err, errEnded) {
		t.Fatal(err)
	}
	m.around = nil
	put(t, m.root, "etc/passwd", m.read("etc/passwd")+"core:x:1003:1003::/home/core:/bin/bash\n")
	undone := m.copy(t)
	undone.undo()
	if strings.Contains(undone.read("etc/passwd"), "core") {
		t.Error("undone, the user exists")
	}
	_, err := m.apply(passwd)
	if err == nil || !strings.Contains(err.Error(), "useradd was interrupted") {
		t.Fatalf("error %v", err)
	}
	oracle(t, m.root, "userdel|--root|ROOT|core")
	if _, err := m.apply(passwd); err != nil {
		t.Error(err)
	}
}

// copy makes a second machine that is as the first.
func (m *machine) copy(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	for _, from := range []string{m.root, m.dir} {
		if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return &machine{
		t:    t,
		root: filepath.Join(dir, filepath.Base(m.root)),
		dir:  filepath.Join(dir, filepath.Base(m.dir)),
		live: m.live,
	}
}

// ending is a driver whose n-th Make, over all of them, does not return to the
// ledger what it did: as if the run had been killed.
type ending struct {
	ledger.Driver
	left *int
}

var errEnded = errors.New("the run was ended")

func (e ending) Set(ctx context.Context, c ledger.Change, now ledger.State) error {
	*e.left--
	if *e.left < 0 {
		return errEnded
	}
	return e.Driver.Set(ctx, c, now)
}

func endAfter(left *int) func(map[ledger.Kind]ledger.Driver) {
	return func(drivers map[ledger.Kind]ledger.Driver) {
		for _, kind := range []ledger.Kind{Group, User, Keys} {
			drivers[kind] = ending{drivers[kind], left}
		}
	}
}
