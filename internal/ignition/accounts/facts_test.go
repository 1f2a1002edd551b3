package accounts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestHomeMode(t *testing.T) {
	for content, want := range map[string]uint32{
		"HOME_MODE 0700\nUMASK 022\n": 0o700, "UMASK\t027 \n": 0o750, "# UMASK 077\n": 0o755, "": 0o755, "HOME_MODE x\nUMASK 077": 0o700,
	} {
		if mode := parseSettings(content, " \t").homeMode(); mode != want {
			t.Errorf("%q: %o, want %o", content, mode, want)
		}
	}
}

func TestLookFacts(t *testing.T) {
	m := newMachine(t)
	const uid = 64322
	put(t, m.root, "etc/passwd", baseFiles()["etc/passwd"]+"busy:x:64322:100::/home/busy:/bin/sh\n")
	if err := unix.Mkfifo(filepath.Join(m.root, "home/anna/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sleep", "60")
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = command.Wait() // it was killed
	}()
	t.Setenv("SUDO_USER", "carl")
	tree, err := host.OpenTree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	f, err := lookFacts(t.Context(), Input{
		Tree: tree, Live: true, Passwd: parsePasswd(t, `{"users":[
		{"name":"anna","shouldExist":false},{"name":"bert","shouldExist":false},{"name":"busy","shouldExist":false},
		{"name":"carl","homeDir":"/none/carl"},{"name":"daemon"}],"groups":[{"name":"tty"}]}`),
		Items: []ledger.Item{{Change: ledger.Change{Kind: User, Target: "x"}}, {Change: ledger.Change{Kind: User, Target: "y"}, Done: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	anna, bert := f.estates["anna"], f.estates["bert"]
	if anna.Special != "/home/anna/pipe" || anna.Owner != 1000 || anna.Mail != "" || anna.Type != host.Directory {
		t.Errorf("anna leaves %+v", anna)
	}
	var paths []string
	for _, c := range bert.Entries {
		paths = append(paths, c.Key())
	}
	want := []string{"file:/home/bert/lent", "file:/home/bert/deep/er/file", "directory:/home/bert/deep/er", "directory:/home/bert/deep", "directory:/home/bert"}
	if !slices.Equal(paths, want) || bert.Mail != "/var/spool/mail/bert" || bert.MailOwner != 1001 || bert.Special != "" {
		t.Errorf("bert leaves %v, %+v", paths, bert)
	}
	if f.busy["busy"] != command.Process.Pid || len(f.busy) != 1 {
		t.Errorf("busy: %v, want %d", f.busy, command.Process.Pid)
	}
	if place := f.places["carl"]; place.parent || place.from != host.Absent {
		t.Errorf("carl moves to %+v", place)
	}
	// This machine's own files are where NSS finds them; the tree has neither.
	if f.elsewhere["passwd daemon"] != "daemon" || f.elsewhere["group tty"] != "tty" || len(f.elsewhere) != 2 {
		t.Errorf("elsewhere: %v", f.elsewhere)
	}
	if f.sudoUser != "carl" || !f.unfinished["user:x"] || f.unfinished["user:y"] {
		t.Errorf("%q, %v", f.sudoUser, f.unfinished)
	}
}

func TestMissingPrograms(t *testing.T) {
	m := newMachine(t)
	before := listing(t, m.root)
	t.Setenv("PATH", t.TempDir())
	_, err := m.apply(parsePasswd(t, `{"users":[{"name":"core"}]}`))
	if report.CodeOf(err) != report.Refused || !strings.Contains(report.RemedyOf(err), "dnf install shadow-utils") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(before, listing(t, m.root)) {
		t.Error("something was changed")
	}
	// A config that wishes nothing new needs none.
	if _, err := m.apply(parsePasswd(t, `{"users":[{"name":"anna","gecos":"Anna"}]}`)); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"etc/passwd", "etc/group"} {
		put(t, root, name, baseFiles()[name]+"broken:x:y\n+\n")
	}
	tree, err := host.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	users, groups, err := Names(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]int{"root": {0, 0}, "carl": {1002, -1}, "ops": {-1, 500}, "broken": {-1, -1}, "+": {-1, -1}} {
		for i, lookup := range []Lookup{users, groups} {
			if id, known := lookup(name); known != (want[i] >= 0) || (known && id != want[i]) {
				t.Errorf("%s, %d: %d, %t", name, i, id, known)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "etc")); err != nil {
		t.Fatal(err)
	}
	if users, _, err = Names(tree); err != nil {
		t.Fatal(err)
	}
	if _, known := users("root"); known {
		t.Error("a tree without files has users")
	}
}
