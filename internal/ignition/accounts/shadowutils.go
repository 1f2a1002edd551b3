// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// shadowUtils is the driver of groups and users. It runs the commands of
// shadow-utils.
type shadowUtils struct{ tree *hostfs.Tree }

var _ ledger.Cleaner = (*shadowUtils)(nil)

// Get returns whether the account exists, and its password hash if the change
// sets one.
func (d *shadowUtils) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(d.tree)
	if err != nil || !db.has(c.Kind, c.Target) {
		return ledger.State{}, err
	}
	state := ledger.State{Present: true}
	if c.Desired.Value != "" {
		state.Value = describeHash(db.hash(c.Kind, c.Target))
	}
	return state, nil
}

// Set creates the account, and sets its password hash.
func (d *shadowUtils) Set(ctx context.Context, c ledger.Change, now ledger.State) error {
	if !now.Present {
		if err := d.run(ctx, nil, string(c.Kind)+"add", append(slices.Clone(c.Args), c.Target)...); err != nil {
			return err
		}
	}
	hash := string(c.Desired.Content)
	if hash == "" || (!now.Present && hash == locked) {
		return nil
	}
	name := map[ledger.Kind]string{User: "chpasswd", Group: "chgpasswd"}[c.Kind]
	return d.run(ctx, []byte(c.Target+":"+hash+"\n"), name, "--encrypted")
}

// inUse is the exit code of userdel for a user with processes, and of groupdel for
// the primary group of a user.
const inUse = 8

// Restore removes an account that the agent created. The home directory and the mail spool of a user
// are removed too if useradd created the directory, as Desired.Names records, and both are unused.
func (d *shadowUtils) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	db, err := readDatabase(d.tree)
	if err != nil || before.Present || !db.has(c.Kind, c.Target) {
		return err
	}
	args := []string{c.Target}
	if home := path.Clean(db.get(passwdFile, c.Target, colHome)); slices.Contains(c.Desired.Names, home) {
		unused, err := d.isUnusedHome(home, db.get(passwdFile, c.Target, colID))
		if err != nil {
			return err
		}
		hasMail, err := d.hasMail(db, c.Target)
		if err != nil {
			return err
		}
		if unused && !hasMail {
			args = append([]string{"--remove"}, args...)
		}
	}
	err = d.run(ctx, nil, string(c.Kind)+"del", args...)
	if failed := new(command.Error); errors.As(err, &failed) && failed.Code == inUse {
		remedy := report.Remedyf("loginctl terminate-user %s # terminates its processes", report.ShellWord(c.Target))
		if c.Kind == Group {
			remedy = "# assign another primary group to the user with usermod --gid"
		}
		return report.Fail(report.Failed, remedy, "the %s %s was not removed: %w", c.Kind, c.Target, err)
	}
	return err
}

// hasMail reports whether userdel --remove would delete mail of a user.
func (d *shadowUtils) hasMail(db database, user string) (bool, error) {
	dirs := []string{"/var/mail", "/var/spool/mail"}
	for _, line := range db[loginDefsFile] {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "MAIL_DIR" {
			dirs = append(dirs, words[1])
		}
	}
	for _, dir := range dirs {
		info, err := d.tree.Lstat(path.Join(dir, user))
		if err != nil {
			return false, err
		}
		if info.Type != hostfs.Absent && (info.Type != hostfs.Regular || info.Size > 0) {
			return true, nil
		}
	}
	return false, nil
}

// skeleton is the directory whose files useradd copies to a home directory.
const skeleton = "/etc/skel"

// isUnusedHome reports whether a directory belongs to the user and contains only
// unchanged files of the skeleton. userdel would also remove what is mounted there.
func (d *shadowUtils) isUnusedHome(home, uid string) (bool, error) {
	info, err := d.tree.Lstat(home)
	if err != nil || info.Type != hostfs.Directory || strconv.Itoa(info.UID) != uid {
		return false, err
	}
	if mounts, err := d.tree.Mounts(home); err != nil || len(mounts) > 0 {
		return false, err
	}
	unused := true
	err = d.tree.Walk(home, func(p string, info hostfs.Info) error {
		same, err := d.isCopy(p, path.Join(skeleton, strings.TrimPrefix(p, path.Clean(home))), info.Type)
		unused = unused && same
		return err
	})
	return unused, err
}

// isCopy reports whether a path has the type and content of an original. The target
// of a link is not compared, because useradd changes it.
func (d *shadowUtils) isCopy(p, original string, pathType hostfs.FileType) (bool, error) {
	from, err := d.tree.Lstat(original)
	if err != nil || from.Type != pathType || pathType != hostfs.Regular {
		return from.Type == pathType, err
	}
	want, _, err := d.tree.ReadFile(original)
	if err != nil {
		return false, err
	}
	got, _, err := d.tree.ReadFile(p)
	return bytes.Equal(want, got), err
}

// turnFile is locked by each command that is running. A kill of the agent does
// not end the command, and the lock of shadow-utils does not cover all of its run:
// the next run of the agent could read the accounts before they are changed.
const turnFile = "/etc/.hcp-node-agent.accounts"

// run runs a command of shadow-utils for the tree. No argument may be a secret.
func (d *shadowUtils) run(ctx context.Context, stdin []byte, name string, args ...string) error {
	lock, err := d.tree.Lock(ctx, turnFile)
	if err != nil {
		return err
	}
	_, err = command.RunInheriting(ctx, lock, stdin, name, append(rootArguments(d.tree), args...)...)
	return errors.Join(err, d.endTurn(lock))
}

// endTurn makes durable what the command wrote, which does not sync all of it, and
// removes the lock.
func (d *shadowUtils) endTurn(lock *os.File) error {
	if err := d.tree.SyncFileSystems("/etc", "/home"); err != nil {
		return errors.Join(err, lock.Close())
	}
	return errors.Join(d.tree.Remove(turnFile), lock.Close())
}

// CleanUp waits for the command of a killed run.
func (d *shadowUtils) CleanUp(ctx context.Context, _ []ledger.Change) error {
	running, err := d.tree.Exists(turnFile)
	if err != nil || !running {
		return err
	}
	lock, err := d.tree.Lock(ctx, turnFile)
	if err != nil {
		return err
	}
	return d.endTurn(lock)
}
