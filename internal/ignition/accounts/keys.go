// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// keysFile is the file of SSH keys below a home directory.
const keysFile = ".ssh/authorized_keys"

// keyChanges returns the changes of the SSH keys of users that exist.
//
// On the running host a file keeps its lines and gets those that are missing.
// Ignition truncates it, which is right at a first boot, but would lock users out
// of a running host. In an image the file is written as Ignition writes it.
func keyChanges(ctx context.Context, in Input, db database) ([]ledger.Change, error) {
	var changes []ledger.Change
	for _, user := range in.Passwd.Users {
		if len(user.SSHAuthorizedKeys) == 0 || util.IsFalse(user.ShouldExist) {
			continue
		}
		home := db[passwdFile].column(user.Name, colHome)
		if !db.has(User, user.Name) {
			if err := willHaveHome(in.Tree, user); err != nil {
				return nil, err
			}
			continue
		}
		if in.HomesUnknown {
			continue
		}
		if to := ptr.Deref(user.HomeDir, ""); !in.Live && to != "" && path.Clean(to) != path.Clean(home) {
			continue // usermod moves it first
		}
		if in.Live && in.Tree.IsLive() {
			out, err := command.Run(ctx, "sshd", "-T", "-C", "user="+user.Name)
			if err == nil && !readsKeysFile(out) {
				return nil, refuseKeys(user, "# set AuthorizedKeysFile .ssh/authorized_keys for the user in "+
					"/etc/ssh/sshd_config, or exclude the user from the config",
					"sshd does not read ~/%s (sshd -T -C user=%s)", keysFile, user.Name)
			}
		}
		one, err := keysOf(in, db[passwdFile], user)
		if err != nil {
			return nil, err
		}
		changes = append(changes, one...)
	}
	return changes, nil
}

// readsKeysFile reports whether sshd, by the output of "sshd -T", reads keysFile.
func readsKeysFile(settings string) bool {
	for line := range strings.Lines(settings) {
		if words := strings.Fields(line); len(words) > 0 && strings.EqualFold(words[0], "authorizedkeysfile") {
			return slices.ContainsFunc(words[1:], func(file string) bool {
				return strings.TrimPrefix(file, "%h/") == keysFile
			})
		}
	}
	return true // an older sshd, or no output
}

func refuseKeys(user types.PasswdUser, remedy report.Remedy, format string, args ...any) error {
	return report.Fail(report.Refused, remedy, "the SSH keys of the user %s were not written: %w",
		user.Name, fmt.Errorf(format, args...))
}

// willHaveHome refuses keys of a new user without a home directory.
func willHaveHome(tree *hostfs.Tree, user types.PasswdUser) error {
	home := path.Join("/home", user.Name)
	if to := ptr.Deref(user.HomeDir, ""); to != "" {
		home = to
	}
	exists, err := tree.Exists(home)
	if err != nil || exists || !util.IsTrue(user.NoCreateHome) {
		return err
	}
	return refuseKeys(user, "# remove noCreateHome or the keys from the config",
		"the home directory %s does not exist", home)
}

// keysOf returns the changes of one user's keys. It follows no link of the user.
func keysOf(in Input, passwd table, user types.PasswdUser) ([]ledger.Change, error) {
	home := path.Clean("/" + passwd.column(user.Name, colHome))
	uid, err := strconv.Atoi(passwd.column(user.Name, colID))
	if err != nil {
		return nil, fmt.Errorf("reading the uid of %s: %w", user.Name, err)
	}
	gid, err := strconv.Atoi(passwd.column(user.Name, colGID))
	if err != nil {
		return nil, fmt.Errorf("reading the primary group of %s: %w", user.Name, err)
	}
	below := func(p string) string { return report.ShellWord(path.Join(in.Tree.Name(), p)) }
	owner, err := ownerOf(in.Tree, home)
	if hostfs.IsNotExist(err) {
		return nil, refuseKeys(user, report.Remedyf("install -d -o %d %s", uid, below(home)),
			"the home directory %s does not exist", home)
	}
	if err != nil {
		return nil, err
	}
	// A uid that the config changes in an image: usermod changes the owner first.
	renumbered := !in.Live && user.UID != nil && *user.UID != uid
	if owner != uid && !renumbered {
		return nil, refuseKeys(user, report.Remedyf("chown %d %s", uid, below(home)), "%s belongs to uid %d", home, owner)
	}
	target, why := path.Join(home, keysFile), "SSH keys of "+user.Name
	var changes []ledger.Change
	dir, err := in.Tree.Lstat(path.Dir(target))
	if err != nil {
		return nil, err
	}
	file := hostfs.Info{Type: hostfs.Absent}
	switch {
	case dir.Type == hostfs.Absent:
		mode := uint32(0o700)
		want := ledger.State{Present: true, Mode: &mode, UID: &uid, GID: &gid}
		changes = append(changes, ledger.Change{Kind: KeysDir, Target: path.Dir(target), Reason: why, Desired: want})
	case dir.Type != hostfs.Directory:
		return nil, refuseKeys(user, "# add the keys manually, or replace it with a directory",
			"%s is a %s, which is not followed", path.Dir(target), dir.Type)
	case dir.UID != uid && !renumbered:
		return nil, refuseKeys(user, report.Remedyf("chown %d %s", uid, below(path.Dir(target))),
			"%s belongs to uid %d", path.Dir(target), dir.UID)
	default:
		if file, err = in.Tree.Lstat(target); err != nil {
			return nil, err
		}
	}
	want := ledger.State{Present: true, Content: keysContent(user.SSHAuthorizedKeys)}
	switch file.Type {
	case hostfs.Absent:
		mode := uint32(0o600)
		want.Mode, want.UID, want.GID = &mode, &uid, &gid
	case hostfs.Regular:
	default:
		return nil, refuseKeys(user, "# add the keys manually, or replace it with a file",
			"%s is a %s, which is not followed", target, file.Type)
	}
	if in.Live {
		want.Names = keyLines(want.Content)
		want.Value = keysValue(want.Names)
	} else {
		want.Digest, want.Size = digest(string(want.Content)), int64(len(want.Content))
	}
	return append(changes, ledger.Change{Kind: Keys, Target: target, Reason: why, Desired: want}), nil
}

// ownerOf returns the owner of a directory, which a link of root can lead to.
func ownerOf(tree *hostfs.Tree, p string) (uid int, err error) {
	dir, err := tree.OpenDir(p)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return 0, fmt.Errorf("reading the owner of %s: %w", p, err)
	}
	return int(stat.Uid), nil
}

// keysContent returns a file as Ignition writes it.
func keysContent(keys []types.SSHAuthorizedKey) []byte {
	var content strings.Builder
	for i, key := range keys {
		content.WriteString(string(key))
		if i < len(keys)-1 || !strings.HasSuffix(string(key), "\n") {
			content.WriteByte('\n')
		}
	}
	return []byte(content.String())
}

// keyLines returns the lines of a file that are not empty.
func keyLines(content []byte) []string {
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func keysValue(lines []string) string {
	return fmt.Sprintf("%d lines, sha256 %s", len(lines), digest(strings.Join(lines, "\n")))
}

// addKeys appends the lines that a file lacks.
func addKeys(content []byte, lines []string) []byte {
	out, existing := slices.Clone(content), keyLines(content)
	for _, line := range lines {
		if slices.Contains(existing, line) {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(append(out, line...), '\n')
		existing = append(existing, line)
	}
	return out
}

// removeKeys removes lines, but those that existed before.
func removeKeys(content []byte, lines, before []string) []byte {
	var out []byte
	for line := range strings.Lines(string(content)) {
		if key := strings.TrimSpace(line); !slices.Contains(lines, key) || slices.Contains(before, key) {
			out = append(out, line...)
		}
	}
	return out
}
