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

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// keysFile is the file of SSH keys below a home directory.
const keysFile = ".ssh/authorized_keys"

// planKeys returns the changes of the SSH keys of users that exist.
//
// On the running host a file keeps its lines and gets those that are missing.
// Ignition truncates it, which is right at a first boot, but would lock users out
// of a running host. In an image the file is written as Ignition writes it.
func planKeys(ctx context.Context, in Input, db database) ([]ledger.Change, error) {
	var changes []ledger.Change
	for _, user := range in.Passwd.Users {
		if len(user.SSHAuthorizedKeys) == 0 || util.IsFalse(user.ShouldExist) {
			continue
		}
		if !db.has(User, user.Name) {
			if err := checkFutureHome(in.Tree, db, user); err != nil {
				return nil, err
			}
			continue
		}
		if in.HomesUnknown {
			continue
		}
		if err := checkSSHD(ctx, in, user.Name); err != nil {
			return nil, err
		}
		owner, err := db.keyOwner(user.Name)
		if err != nil {
			return nil, err
		}
		if err := owner.checkHome(in.Tree); err != nil {
			return nil, err
		}
		dir, err := owner.planDirectory(in.Tree)
		if err != nil {
			return nil, err
		}
		file, err := owner.planFile(in, keysContent(user.SSHAuthorizedKeys), len(dir) > 0)
		if err != nil {
			return nil, err
		}
		changes = append(append(changes, dir...), file)
	}
	return changes, nil
}

// checkSSHD refuses keys that sshd of the running host would not read.
func checkSSHD(ctx context.Context, in Input, user string) error {
	if !in.Live || !in.Tree.IsLive() {
		return nil
	}
	settings, err := command.Run(ctx, "sshd", "-T", "-C", "user="+user)
	if err != nil || readsKeysFile(settings) {
		return nil //nolint:nilerr // without sshd the keys have no effect
	}
	return refuseKeys(user, "# set AuthorizedKeysFile .ssh/authorized_keys for the user in "+
		"/etc/ssh/sshd_config, or exclude the user from the config",
		"sshd does not read ~/%s (sshd -T -C user=%s)", keysFile, user)
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

func refuseKeys(user string, remedy report.Remedy, format string, args ...any) error {
	return report.Fail(report.Refused, remedy, "the SSH keys of the user %s were not written: %w",
		user, fmt.Errorf(format, args...))
}

// checkFutureHome refuses keys of a new user without a home directory.
func checkFutureHome(tree hostfs.Reader, db database, user types.PasswdUser) error {
	home := db.homeOf(user)
	exists, err := tree.Exists(home)
	if err != nil || exists || !util.IsTrue(user.NoCreateHome) {
		return err
	}
	return refuseKeys(user.Name, "# remove noCreateHome or the keys from the config",
		"the home directory %s does not exist", home)
}

// keyOwner is a user whose keys are written. No link of the user is followed.
type keyOwner struct {
	name, home string
	uid, gid   int
}

func (db database) keyOwner(name string) (keyOwner, error) {
	uid, err := strconv.Atoi(db.get(passwdFile, name, colID))
	if err != nil {
		return keyOwner{}, fmt.Errorf("reading the uid of %s: %w", name, err)
	}
	gid, err := strconv.Atoi(db.get(passwdFile, name, colGID))
	if err != nil {
		return keyOwner{}, fmt.Errorf("reading the primary group of %s: %w", name, err)
	}
	home := path.Clean("/" + db.get(passwdFile, name, colHome))
	return keyOwner{name: name, home: home, uid: uid, gid: gid}, nil
}

// checkHome refuses keys if the home directory, to which a link of root can lead, does not
// exist or belongs to another user.
func (o keyOwner) checkHome(tree hostfs.Reader) error {
	shellPath := report.ShellWord(path.Join(tree.Name(), o.home))
	dir, err := tree.OpenDir(o.home)
	if hostfs.IsNotExist(err) {
		return refuseKeys(o.name, report.Remedyf("install -d -o %d %s", o.uid, shellPath),
			"the home directory %s does not exist", o.home)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return fmt.Errorf("reading the owner of %s: %w", o.home, err)
	}
	if int(stat.Uid) != o.uid {
		return refuseKeys(o.name, report.Remedyf("chown %d %s", o.uid, shellPath),
			"%s belongs to uid %d", o.home, stat.Uid)
	}
	return nil
}

// planDirectory returns the change that creates the directory of the keys, or none
// if it exists.
func (o keyOwner) planDirectory(tree hostfs.Reader) ([]ledger.Change, error) {
	target := path.Join(o.home, path.Dir(keysFile))
	info, err := tree.Lstat(target)
	switch {
	case err != nil:
		return nil, err
	case info.Type == hostfs.Absent:
		return []ledger.Change{o.change(ledger.Directory, target, o.newState(0o700))}, nil
	case info.Type != hostfs.Directory:
		return nil, refuseKeys(o.name, "# add the keys manually, or replace it with a directory",
			"%s is a %s, which is not followed", target, info.Type)
	case info.UID != o.uid:
		return nil, refuseKeys(o.name,
			report.Remedyf("chown %d %s", o.uid, report.ShellWord(path.Join(tree.Name(), target))),
			"%s belongs to uid %d", target, info.UID)
	}
	return nil, nil
}

// planFile returns the change that writes the keys.
func (o keyOwner) planFile(in Input, content []byte, isNewDirectory bool) (ledger.Change, error) {
	target := path.Join(o.home, keysFile)
	info := hostfs.Info{Type: hostfs.Absent}
	if !isNewDirectory {
		var err error
		if info, err = in.Tree.Lstat(target); err != nil {
			return ledger.Change{}, err
		}
	}
	desired := ledger.State{Present: true}
	switch info.Type {
	case hostfs.Absent:
		desired = o.newState(0o600)
	case hostfs.Regular:
	default:
		return ledger.Change{}, refuseKeys(o.name, "# add the keys manually, or replace it with a file",
			"%s is a %s, which is not followed", target, info.Type)
	}
	if !in.Live {
		return o.change(ledger.File, target, desired.WithContent(content)), nil
	}
	desired.Names = linesOf(content)
	desired.Value = describeLines(desired.Names)
	return o.change(Keys, target, desired), nil
}

// newState returns the state of a new file or directory of the user.
func (o keyOwner) newState(mode uint32) ledger.State {
	return ledger.State{Present: true, Mode: &mode, UID: &o.uid, GID: &o.gid}
}

func (o keyOwner) change(kind ledger.Kind, target string, desired ledger.State) ledger.Change {
	return ledger.Change{Kind: kind, Target: target, Reason: "SSH keys of " + o.name, Desired: desired}
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
