// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
)

// account files of a small RHEL machine, with an administrator, a service and a
// group that has members.
func baseFiles() map[string]string {
	return map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\nmail:x:8:12:mail:/var/spool/mail:/sbin/nologin\n" +
			"anna:x:1000:1000:Anna:/home/anna:/bin/bash\nbert:x:1001:1001::/home/bert:/bin/bash\n" +
			"carl:x:1002:100::/srv/carl:/bin/sh\n",
		"etc/shadow": "root:*:19000:0:99999:7:::\nmail:*:19000:0:99999:7:::\n" +
			"anna:$6$aa$aa:19001:0:99999:7:::\nbert:$6$bb$bb:19002:0:99999:7:::\ncarl:!:19003:0:99999:7:::\n",
		"etc/group": "root:x:0:\nwheel:x:10:anna,bert,carl\nmail:x:12:\nusers:x:100:\nops:x:500:bert\n" +
			"anna:x:1000:\nbert:x:1001:\nempty:x:1500:\n",
		"etc/gshadow": "root:::\nwheel::bert:anna,bert,carl\nmail:::\nusers:::\nops:$6$op$op::bert\n" +
			"anna:!::\nbert:!::\nempty:!::\n",
		"etc/subuid": "anna:100000:65536\nbert:165536:65536\n",
		"etc/subgid": "anna:100000:65536\nbert:165536:65536\n",
		"etc/login.defs": "MAIL_DIR /var/spool/mail\nUID_MIN 1000\nUID_MAX 60000\n" +
			"SYS_UID_MIN 201\nSYS_UID_MAX 999\n" +
			"GID_MIN 1000\nGID_MAX 60000\n" +
			"SYS_GID_MIN 201\nSYS_GID_MAX 999\nUMASK 022\nHOME_MODE 0700\nUSERGROUPS_ENAB yes\n" +
			"ENCRYPT_METHOD SHA512\n" +
			"SUB_UID_MIN 100000\nSUB_UID_MAX 600100000\nSUB_UID_COUNT 65536\n" +
			"SUB_GID_MIN 100000\nSUB_GID_MAX 600100000\nSUB_GID_COUNT 65536\n",
		"etc/default/useradd": "GROUP=100\nHOME=/home\nINACTIVE=-1\nEXPIRE=\n" +
			"SHELL=/bin/bash\nSKEL=/etc/skel\nCREATE_MAIL_SPOOL=yes\n",
		"etc/skel/.bashrc": "# .bashrc\n",
		"home/anna/notes":  "hers\n", "home/anna/.ssh/authorized_keys": "ssh-ed25519 AAAA1 anna@desk",
		"home/bert/deep/er/file": "his\n", "var/spool/mail/bert": "From x\n",
	}
}

// newRoot makes a tree with the base files.
func newRoot(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("accounts are made by root")
	}
	if _, err := exec.LookPath("useradd"); err != nil {
		t.Skip("there are no shadow-utils here: ", err)
	}
	root := filepath.Join(t.TempDir(), "root")
	for name, content := range baseFiles() {
		put(t, root, name, content)
	}
	run := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/shadow", "etc/gshadow"} {
		run(os.Chmod(filepath.Join(root, name), 0))
	}
	for _, name := range []string{"var/log", "srv", "root"} {
		run(os.MkdirAll(filepath.Join(root, name), 0o755)) //nolint:gosec // as on a host
	}
	run(os.Chmod(filepath.Join(root, "etc/skel/.bashrc"), 0o644))            //nolint:gosec // as on a host
	run(os.Symlink("/etc/skel/.bashrc", filepath.Join(root, "etc/skel/rc"))) // useradd makes a link in the home of it
	run(os.Symlink("notes", filepath.Join(root, "home/anna/link")))
	give(t, root, "home/anna", 1000, 1000)
	give(t, root, "home/bert", 1001, 1001)
	run(os.Lchown(filepath.Join(root, "home/bert/deep/er/file"), 0, 12)) // not everything there is his
	put(t, root, "home/bert/lent", "of the number that he gets\n")
	run(os.Chown(filepath.Join(root, "home/bert/lent"), 4000, 100))
	run(os.Chown(filepath.Join(root, "var/spool/mail/bert"), 1001, 12))
	run(os.Chmod(filepath.Join(root, "home/anna"), 0o700)) //nolint:gosec // a home
	return root
}

func (m *machine) read(name string) string {
	m.t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(content)
}

func put(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as on a host
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func give(t *testing.T, root, name string, uid, gid int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, name), func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, uid, gid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// listing renders a tree: type, mode, owner and content of everything.
func listing(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var stat unix.Stat_t
		if err := unix.Lstat(p, &stat); err != nil {
			return err
		}
		line := fmt.Sprintf("%s %o %d:%d", strings.TrimPrefix(p, root), stat.Mode, stat.Uid, stat.Gid)
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			target, err := os.Readlink(p)
			lines = append(lines, line+" -> "+target)
			return err
		case unix.S_IFREG:
			content, err := os.ReadFile(p)
			lines = append(lines, fmt.Sprintf("%s %q", line, content))
			return err
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// visible returns a listing without the leftovers of shadow-utils.
func visible(t *testing.T, root string) []string {
	t.Helper()
	var kept []string
	for _, line := range listing(t, root) {
		name, _, _ := strings.Cut(line, " ")
		if !strings.HasSuffix(name, "-") && name != "/etc/.pwd.lock" {
			kept = append(kept, line)
		}
	}
	return kept
}

// machine is a tree with its ledger.
type machine struct {
	t    *testing.T
	root string
	dir  string
	live bool
	// purge makes an undo remove what users have put into their homes.
	purge bool
	// around changes the drivers, to fail on purpose.
	around func(map[ledger.Kind]ledger.Driver)
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{t: t, root: newRoot(t), dir: filepath.Join(t.TempDir(), "ledger")}
}

func (m *machine) with(do func(l *ledger.Ledger, tree *hostfs.Tree)) {
	m.t.Helper()
	if err := m.open(do); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) open(do func(l *ledger.Ledger, tree *hostfs.Tree)) error {
	tree, err := hostfs.OpenTree(m.root)
	if err != nil {
		return err
	}
	defer tree.Close()
	paths, commands := &ledger.Paths{Tree: tree}, NewDriver(tree)
	drivers := ledger.Drivers{
		Paths:     paths,
		Resources: map[ledger.Kind]ledger.Driver{Group: commands, User: commands, Keys: NewKeysDriver(paths)},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
			ledger.SharedContents: &resource.SharedDirSnapshot{DirSnapshot: &resource.DirSnapshot{Tree: tree}, Purge: m.purge},
		},
	}
	if m.around != nil {
		m.around(drivers.Resources)
	}
	l, err := ledger.Open(m.dir, drivers)
	if err != nil {
		return err
	}
	defer l.Close()
	do(l, tree)
	return nil
}

func (m *machine) apply(passwd types.Passwd) (made []ledger.PlannedChange, err error) {
	m.t.Helper()
	m.with(func(l *ledger.Ledger, tree *hostfs.Tree) {
		made, err = Apply(m.t.Context(), l, tree, "files", Input{Passwd: passwd, Tree: tree, Live: m.live})
	})
	return made, err
}

func (m *machine) undo() (outcome ledger.Outcome) {
	m.t.Helper()
	m.with(func(l *ledger.Ledger, _ *hostfs.Tree) {
		var err error
		if outcome, err = l.Undo(m.t.Context()); err != nil {
			m.t.Fatalf("undo: %v", err)
		}
	})
	return outcome
}

func (m *machine) undoErr() (err error) {
	m.t.Helper()
	m.with(func(l *ledger.Ledger, _ *hostfs.Tree) { _, err = l.Undo(m.t.Context()) })
	return err
}

func parsePasswd(t *testing.T, text string) types.Passwd {
	t.Helper()
	var passwd types.Passwd
	if err := json.Unmarshal([]byte(text), &passwd); err != nil {
		t.Fatal(err)
	}
	return passwd
}

// oracle runs what Ignition runs, on a tree; ROOT stands for its path.
func oracle(t *testing.T, root string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		words := strings.Split(strings.ReplaceAll(command, "ROOT", root), "|")
		for i, word := range words {
			words[i] = strings.TrimSpace(word)
		}
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
}

func keysOnly(pending []ledger.PlannedChange) []string {
	var list []string
	for _, p := range pending {
		list = append(list, p.Key())
	}
	return slices.Clip(list)
}
