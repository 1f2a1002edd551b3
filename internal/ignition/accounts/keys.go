package accounts

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// KeyChanges gives the SSH keys of the users, which have to be there already.
//
// On the running machine a file keeps all its lines and gets those that it
// lacks. Ignition truncates it: right for a machine that boots for the first
// time, and on one that runs the end of somebody's access. In an image it is
// written as Ignition writes it.
func KeyChanges(in Input) ([]ledger.Change, error) {
	db, err := readDatabase(in.Tree)
	if err != nil {
		return nil, err
	}
	sshd, err := readSSHD(in.Tree)
	if err != nil {
		return nil, err
	}
	var changes []ledger.Change
	var found problems
	for _, user := range in.Passwd.Users {
		if len(user.SSHAuthorizedKeys) == 0 || util.IsFalse(user.ShouldExist) {
			continue
		}
		more, err := keysOf(in.Tree, in.Live, db, sshd, user)
		if err == nil {
			changes = append(changes, more...)
		} else if err := found.take(err); err != nil {
			return nil, err
		}
	}
	return changes, found.err()
}

func refuseKeys(user types.PasswdUser, remedy, format string, args ...any) error {
	return report.Fail(report.Refused, remedy, "the SSH keys of the user %s were not written: %w", user.Name, fmt.Errorf(format, args...))
}

func keysOf(tree *host.Tree, live bool, db database, sshd []directive, user types.PasswdUser) ([]ledger.Change, error) {
	uid, gid := db.uid(user.Name), db.gid(user.Name)
	home := path.Clean("/" + db.home(user.Name))
	setFile := "# set AuthorizedKeysFile .ssh/authorized_keys in " + pathOf(tree, "/etc/ssh/sshd_config")
	pattern, err := keysPattern(sshd, user.Name)
	if err != nil {
		return nil, refuseKeys(user, setFile, "%w", err)
	}
	file, err := expandKeys(pattern, user.Name, home, uid)
	if err != nil {
		return nil, refuseKeys(user, setFile, "%w", err)
	}
	base, owner := home, uid
	if !host.Within(file, home) || home == "/" {
		// A place of root's for the keys of all: its directory is the
		// administrator's to make.
		base, owner, uid, gid = path.Dir(file), 0, 0, 0
	}
	sub, info, err := tree.Sub(base)
	if gone(err) {
		return nil, refuseKeys(user, fmt.Sprintf("install -d -o %d %s", owner, pathOf(tree, base)), "%s, where they belong, is not there", base)
	}
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	if info.UID != owner {
		return nil, refuseKeys(user, fmt.Sprintf("chown %d %s", owner, pathOf(tree, base)), "%s belongs to uid %d", base, info.UID)
	}
	place := keyPlace{tree: tree, base: base, file: file, uid: uid, gid: gid}
	if owner == 0 && db.uid(user.Name) != 0 {
		place.mode = 0o644 // sshd reads it as the user
	} else {
		place.mode = 0o600
	}
	return place.changes(sub, live, user)
}

// pathOf returns a path in the tree as a command of the running host takes it:
// below the tree's root, and quoted.
func pathOf(tree *host.Tree, name string) string {
	return report.ShellWord(path.Join(tree.Name(), name))
}

// keyPlace is where keys belong: a file below base.
type keyPlace struct {
	tree       *host.Tree // that base is a path in
	base, file string
	uid, gid   int
	mode       uint32
}

func (k keyPlace) changes(sub *host.Tree, live bool, user types.PasswdUser) ([]ledger.Change, error) {
	const byHand = "put the keys there by hand, or remove it"
	why := "SSH keys of " + user.Name
	var changes []ledger.Change
	rel := strings.TrimPrefix(k.file, strings.TrimSuffix(k.base, "/")) // begins with /
	for dir := path.Dir(rel); dir != "/"; dir = path.Dir(dir) {
		info, err := sub.Lstat(dir)
		if err != nil {
			return nil, err
		}
		at := path.Join(k.base, dir)
		switch {
		case info.Type == host.Absent:
			mode, uid, gid := uint32(0o700), k.uid, k.gid
			changes = append(changes, ledger.Change{
				Kind: KeysDir, Target: at, Why: why,
				Want: ledger.State{Present: true, Mode: &mode, UID: &uid, GID: &gid, Names: []string{k.base}},
			})
		case info.Type != host.Directory:
			return nil, refuseKeys(user, byHand, "%s is a %s and not a directory; nothing is followed there as root", at, info.Type)
		case info.UID != k.uid:
			return nil, refuseKeys(user, fmt.Sprintf("chown %d %s", k.uid, pathOf(k.tree, at)), "%s belongs to uid %d", at, info.UID)
		}
	}
	slices.Reverse(changes)
	info, err := sub.Lstat(rel)
	if err != nil {
		return nil, err
	}
	want := ledger.State{Present: true, Names: []string{k.base}}
	switch info.Type {
	case host.Absent:
		want.Mode, want.UID, want.GID = &k.mode, &k.uid, &k.gid
	case host.Regular:
	default:
		return nil, refuseKeys(user, byHand, "%s is a %s; nothing is followed there as root", k.file, info.Type)
	}
	want.Content = keysContent(user.SSHAuthorizedKeys)
	if live {
		lines, err := json.Marshal(keyLines(want.Content))
		if err != nil {
			return nil, fmt.Errorf("encoding keys: %w", err)
		}
		want.Value = string(lines)
	} else {
		want.Digest, want.Size = contentDigest(want.Content), int64(len(want.Content))
	}
	return append(changes, ledger.Change{Kind: Keys, Target: k.file, Why: why, Want: want}), nil
}

// keysContent is a file as Ignition writes it.
func keysContent(keys []types.SSHAuthorizedKey) []byte {
	var lines []string
	for _, key := range keys {
		lines = append(lines, string(key))
	}
	content := strings.Join(lines, "\n")
	if !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return []byte(content)
}

// keyLines are the lines of a file that hold something.
func keyLines(content []byte) []string {
	lines := []string{}
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// addKeys gives a file with the lines that it lacks.
func addKeys(content []byte, wished []string) []byte {
	there := keyLines(content)
	out := slices.Clone(content)
	for _, line := range wished {
		if slices.Contains(there, line) {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(append(out, line...), '\n')
		there = append(there, line)
	}
	return out
}

// removeKeys takes out the lines that were wished and are not among the old.
func removeKeys(content []byte, wished, old []string) []byte {
	var out []byte
	for line := range strings.Lines(string(content)) {
		if key := strings.TrimSpace(line); slices.Contains(wished, key) && !slices.Contains(old, key) {
			continue
		}
		out = append(out, line...)
	}
	return out
}
