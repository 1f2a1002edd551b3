// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func keysOfItems(kept []ledger.Difference) string {
	keys := make([]string, 0, len(kept))
	for _, d := range kept {
		if d.Kind != accountBackup { // the copies of what another process has replaced since
			keys = append(keys, d.Key())
		}
	}
	return strings.Join(keys, " ")
}

// Lines that another process has changed since stay, whole accounts at a time.
func TestUndoKeepsLinesOfOthers(t *testing.T) {
	m := newMachine(t)
	files := baseFiles()
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"empty","shouldExist":false},{"name":"team"}],
		"users":[{"name":"anna","shell":"/bin/zsh"},{"name":"carl","shell":"/bin/zsh","groups":["mail"]},{"name":"core","groups":["wheel","users"]}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "useradd|--root|ROOT|--uid|7000|--no-create-home|--groups|wheel|dora", "usermod|--root|ROOT|--comment|Carl|--password|$6$new$new|carl")
	kept := keysOfItems(m.undo().Kept)
	if want := "user account:carl group account:wheel"; kept != want {
		t.Errorf("kept %q, want %q", kept, want)
	}
	passwd := strings.Replace(files["etc/passwd"], "carl:x:1002:100::/srv/carl:/bin/sh", "carl:x:1002:100:Carl:/srv/carl:/bin/zsh", 1)
	if diff := cmp.Diff(passwd+"dora:x:7000:7000::/home/dora:/bin/bash\n", m.read("etc/passwd")); diff != "" {
		t.Errorf("passwd (-want +got):\n%s", diff)
	}
	group := strings.Replace(files["etc/group"], "anna,bert,carl", "anna,bert,dora", 1)
	if diff := cmp.Diff(group+"dora:x:7000:\n", m.read("etc/group")); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	if shadow := m.read("etc/shadow"); !strings.Contains(shadow, "carl:$6$new$new:") || strings.Contains(shadow, "core:") {
		t.Errorf("shadow:\n%s", shadow)
	}
	if gshadow := m.read("etc/gshadow"); strings.Contains(gshadow, "core") || strings.Contains(gshadow, "team") {
		t.Errorf("gshadow:\n%s", gshadow)
	}
}

// An account that another process adds between two runs stays.
func TestUndoKeepsAccountsMadeBetweenRuns(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"core"}]}`)
	m := newMachine(t)
	if _, err := m.apply(passwd); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "useradd|--root|ROOT|--uid|7000|--no-create-home|dora")
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"team"}],"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	m.undo()
	if diff := cmp.Diff(baseFiles()["etc/passwd"]+"dora:x:7000:7000::/home/dora:/bin/bash\n", m.read("etc/passwd")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A group that is the primary one of another user now is not removed.
func TestUndoOfAGroupInUse(t *testing.T) {
	m := newMachine(t)
	before := listing(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"team"}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--gid|team|carl")
	if err := m.undoErr(); err == nil || !strings.Contains(err.Error(), "it is the primary group of carl") {
		t.Fatalf("error %v", err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--gid|users|carl")
	m.undo()
	if diff := cmp.Diff(before, visible(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A user who has set a password since stays, with its group.
func TestUndoKeepsAUserWhole(t *testing.T) {
	m := newMachine(t)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "usermod|--root|ROOT|--password|$6$new$new|core")
	if kept := keysOfItems(m.undo().Kept); kept != "user account:core" {
		t.Errorf("kept %q", kept)
	}
	for file, want := range map[string]string{"etc/passwd": "core:x:1003:1003:", "etc/shadow": "core:$6$new$new:", "etc/group": "core:x:1003:"} {
		if !strings.Contains(m.read(file), want) {
			t.Errorf("%s lacks %s", file, want)
		}
	}
}

// A home holds what its user has put there: it stays, unless it is to be purged.
func TestUndoKeepsWhatIsInAHome(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "etc/skel/.config/app/settings", "a=1\n")
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","homeDir":"/var/home/core"}]}`)); err != nil {
		t.Fatal(err)
	}
	put(t, m.root, "var/home/core/work", "x")
	put(t, m.root, "var/home/core/.bashrc", "# mine\n")
	put(t, m.root, "var/spool/mail/core", "From y\n")
	purged := m.copy(t)
	purged.purge = true
	for _, m := range []*machine{m, purged} {
		m.undo()
		var left []string
		for _, line := range listing(t, m.root) {
			if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "/var/home") || name == "/var/spool/mail/core" {
				left = append(left, name)
			}
		}
		want := "/var/home /var/home/core /var/home/core/.bashrc /var/home/core/work /var/spool/mail/core"
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
	before := listing(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	m.purge = true
	m.undo()
	if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A password that was set since is not removed by a second run, not even if the
// first run was killed.
func TestSecondRunKeepsAPassword(t *testing.T) {
	passwd := parsePasswd(t, `{"users":[{"name":"core"},{"name":"anna","shell":"/bin/sh"}]}`)
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

// An undo that was killed has restored some of the files; the next one takes the
// rest for the agent's.
func TestUndoKilledBetweenFiles(t *testing.T) {
	for name, config := range map[string]string{
		"user made":    `{"users":[{"name":"core","noCreateHome":true,"groups":["wheel","mail"],"passwordHash":"$6$c$c","uid":4000}]}`,
		"user changed": `{"users":[{"name":"bert","gecos":"Bert","shell":"/bin/sh","groups":["mail"],"passwordHash":"$6$c$c"}]}`,
		"group made":   `{"groups":[{"name":"team","gid":3000,"passwordHash":"$6$g$g"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			before := listing(t, m.root)
			if _, err := m.apply(parsePasswd(t, config)); err != nil {
				t.Fatal(err)
			}
			undone := m.copy(t)
			undone.undo()
			files := []string{"etc/subgid", "etc/subuid", "etc/gshadow", "etc/shadow", "etc/group", "etc/passwd"}
			for restored := range files {
				m := m.copy(t)
				for _, file := range files[:restored] {
					if err := os.WriteFile(filepath.Join(m.root, file), []byte(undone.read(file)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if outcome := m.undo(); len(outcome.Kept) > 0 {
					t.Errorf("%v restored: kept %v", files[:restored], outcome.Kept)
				}
				if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
					t.Errorf("%v restored (-before +after):\n%s", files[:restored], diff)
				}
			}
		})
	}
}

// A useradd that was interrupted itself is reported with the command that makes
// way for the next run, and can be undone.
func TestUserMadeInPart(t *testing.T) {
	m := newMachine(t)
	before := listing(t, m.root)
	passwd := parsePasswd(t, `{"users":[{"name":"core"}]}`)
	left := 0
	m.around = endAfter(&left)
	m.with(func(l *ledger.Ledger, tree *hostfs.Tree) { // as Apply does until it runs useradd
		changes := []ledger.Change{userChange(passwd.Users[0])}
		written, err := writtenBy(tree, []ledger.PlannedChange{{Change: changes[0]}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.TrackExternal(t.Context(), "files", written...); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Apply(t.Context(), "files", changes); !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
	})
	m.around = nil
	put(t, m.root, "etc/passwd", m.read("etc/passwd")+"core:x:1003:1003::/home/core:/bin/bash\n")
	if err := os.Chmod(filepath.Join(m.root, "etc/passwd"), 0o600); err != nil {
		t.Fatal(err)
	}
	undone := m.copy(t)
	undone.undo()
	if diff := cmp.Diff(before, listing(t, undone.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
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
	return &machine{t: t, root: filepath.Join(dir, filepath.Base(m.root)), dir: filepath.Join(dir, filepath.Base(m.dir)), live: m.live}
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
		for _, kind := range []ledger.Kind{Group, User, KeysDir, Keys} {
			drivers[kind] = ending{drivers[kind], left}
		}
	}
}
