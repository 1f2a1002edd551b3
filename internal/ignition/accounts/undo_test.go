package accounts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What others did to the accounts meanwhile stays; what was removed comes back
// to its place.
func TestUndoKeepsWhatOthersDid(t *testing.T) {
	m := newMachine(t)
	files := baseFiles()
	if _, err := m.apply(parsePasswd(t, `{"groups":[{"name":"ops","shouldExist":false}],"users":[{"name":"anna","shouldExist":false},{"name":"bert","shouldExist":false},
		{"name":"carl","shell":"/bin/zsh","groups":["mail"]},{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "useradd|--root|ROOT|--uid|7000|--no-create-home|--groups|wheel|dora", "usermod|--root|ROOT|--comment|Carl|--password|$6$new$new|carl")
	m.undo()
	carl := func(s string) string {
		return strings.Replace(s, "carl:x:1002:100::", "carl:x:1002:100:Carl:", 1)
	}
	if diff := cmp.Diff(carl(files["etc/passwd"])+"dora:x:7000:7000::/home/dora:/bin/bash\n", m.read("etc/passwd")); diff != "" {
		t.Errorf("passwd (-want +got):\n%s", diff)
	}
	group := strings.Replace(files["etc/group"], "anna,bert,carl", "anna,bert,carl,dora", 1) + "dora:x:7000:\n"
	if diff := cmp.Diff(group, m.read("etc/group")); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Replace(files["etc/gshadow"], "anna,bert,carl", "anna,bert,carl,dora", 1)+"dora:!::\n", m.read("etc/gshadow")); diff != "" {
		t.Errorf("gshadow (-want +got):\n%s", diff)
	}
	if shadow := m.read("etc/shadow"); !strings.Contains(shadow, "carl:$6$new$new:") || !strings.Contains(shadow, "anna:$6$aa$aa:19001:0:99999:7:::\nbert:$6$bb$bb:19002:") {
		t.Errorf("shadow:\n%s", shadow)
	}
}

// Nobody gets back a number that is somebody else's now.
func TestUndoOfARemovedUserWhoseNumberIsTaken(t *testing.T) {
	m := newMachine(t)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"anna","shouldExist":false}]}`)); err != nil {
		t.Fatal(err)
	}
	oracle(t, m.root, "useradd|--root|ROOT|--uid|1000|--no-create-home|eve")
	err := m.undoErr()
	if err == nil || !strings.Contains(err.Error(), "its number 1000 is that of eve now") {
		t.Errorf("error %v", err)
	}
	oracle(t, m.root, "userdel|--root|ROOT|eve")
	m.undo()
	if diff := cmp.Diff(baseFiles()["etc/passwd"], m.read("etc/passwd")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A home holds what its user has put there: that stays, and is told.
func TestUndoKeepsWhatIsInAHome(t *testing.T) {
	m := newMachine(t)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	put(t, m.root, "home/core/work", "x")
	put(t, m.root, "home/core/.bashrc", "# mine\n")
	put(t, m.root, "var/spool/mail/core", "From y\n")
	outcome := m.undo()
	if len(outcome.Kept) != 1 || outcome.Kept[0].Key() != "home:/home/core" {
		t.Errorf("kept %v", outcome.Kept)
	}
	entries, err := os.ReadDir(filepath.Join(m.root, "home/core"))
	if err != nil || len(entries) != 2 || m.read("home/core/work") != "x" || m.read("home/core/.bashrc") != "# mine\n" || m.read("var/spool/mail/core") != "From y\n" {
		t.Errorf("%v, %v", entries, err)
	}
	if strings.Contains(m.read("etc/passwd")+m.read("etc/group")+m.read("etc/shadow")+m.read("etc/gshadow"), "core") {
		t.Error("the user is there")
	}
}

// useradd, without a /proc in the tree, ends half-way in the first directory of
// the skeleton, and says that all is well. So there is no oracle for this.
func TestSkeletonWithDirectories(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "etc/skel/.config/app/settings", "a=1\n")
	before := listing(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core","uid":2000}]}`)); err != nil {
		t.Fatal(err)
	}
	var home []string
	for _, line := range listing(t, m.root) {
		if strings.HasPrefix(line, "/home/core") {
			home = append(home, line)
		}
	}
	want := []string{
		"/home/core 40700 2000:2000", `/home/core/.bashrc 100644 2000:2000 "# .bashrc\n"`,
		"/home/core/.config 40755 2000:2000", "/home/core/.config/app 40755 2000:2000",
		`/home/core/.config/app/settings 100600 2000:2000 "a=1\n"`, "/home/core/rc 120777 2000:2000 -> /home/core/.bashrc",
	}
	if diff := cmp.Diff(want, home); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.undo()
	if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A home that is there stays as it is, as useradd has it.
func TestHomeThatIsThere(t *testing.T) {
	m := newMachine(t)
	put(t, m.root, "home/core/old", "x")
	put(t, m.root, "var/spool/mail/core", "")
	give(t, m.root, "home/core", 77, 77)
	before := listing(t, m.root)
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`)); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(listing(t, m.root), `/home/core/old 100600 77:77 "x"`) {
		t.Error("the file of the old home is not as it was")
	}
	if _, err := os.Lstat(filepath.Join(m.root, "home/core/.bashrc")); err == nil {
		t.Error("the skeleton was copied")
	}
	m.undo()
	if diff := cmp.Diff(before, listing(t, m.root)); diff != "" {
		t.Errorf("undone (-before +after):\n%s", diff)
	}
}

// A password that somebody has set since is not taken away by a second run,
// even if the first never came to its end.
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
