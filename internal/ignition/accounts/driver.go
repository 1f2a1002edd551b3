// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// AddDrivers adds the drivers of this package, which use the paths of the drivers. The driver of
// ledger.SharedContents is required too.
func AddDrivers(to ledger.Drivers) {
	tree := to.Paths.Tree
	commands, keys := &commands{tree: tree}, &keyFiles{paths: to.Paths}
	maps.Copy(to.Resources, map[ledger.Kind]ledger.Driver{Group: commands, User: commands, Keys: keys, KeysDir: keys})
	lines := &lines{tree}
	maps.Copy(to.Snapshots, map[ledger.Kind]ledger.SnapshotDriver{
		groupAccount: lines, userAccount: lines, userMemberships: &memberships{tree}, accountBackup: to.Paths,
	})
}

// commands is the driver of groups and users. It runs the commands of
// shadow-utils. An undo restores the lines, which the same step records.
type commands struct {
	ledger.Irreversible

	tree *hostfs.Tree
}

// fields returns the current values of the fields that a change names.
func (db database) fields(c ledger.Change) fields {
	now := fields(slices.Clone(c.Desired.Names))
	columns := map[string]int{"uid": colID, "gid": colID, "gecos": 4, "home": colHome, "shell": 6}
	for i, field := range now {
		name, wanted, isField := strings.Cut(field, "=")
		column, isColumn := columns[name]
		value := wanted
		switch {
		case isColumn:
			value = db[filesOf(c.Kind)[0]].column(c.Target, column)
			if name == "home" && path.Clean(value) == path.Clean(wanted) {
				value = wanted
			}
		case name == "primary-group":
			gid := db[passwdFile].column(c.Target, colGID)
			if db[groupFile].column(db.groupName(wanted), colID) != gid {
				value = gid
			}
		case name == "groups":
			value = strings.Join(db.groupsOf(c.Target), ",")
		case name == "password":
			value = "sha256:" + digest(db.hash(c.Kind, c.Target))
		}
		if isField {
			now[i] = name + "=" + value
		}
	}
	return now
}

func missingFields(wanted, now fields) fields {
	return slices.DeleteFunc(slices.Clone(wanted), func(field string) bool { return slices.Contains(now, field) })
}

// Get returns the current values of the fields that the change names.
func (d *commands) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	db, err := readDatabase(d.tree)
	if err != nil || !db.has(c.Kind, c.Target) {
		return ledger.State{}, err
	}
	now := db.fields(c)
	return ledger.State{Present: true, Value: strings.Join(now, "; "), Names: now}, nil
}

// Set runs the commands that the change needs.
func (d *commands) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	now, err := d.Get(ctx, c)
	if err != nil {
		return err
	}
	missing := missingFields(c.Desired.Names, now.Names)
	var args []string
	command := string(c.Kind) + "mod"
	switch {
	case !c.Desired.Present:
		command = string(c.Kind) + "del"
		if c.Kind == User { // in an image; it is refused on the running host
			args = append(args, "--remove")
		}
	case !now.Present:
		command = string(c.Kind) + "add"
		args = newArgs(c)
	case missing.get("home") != "":
		args = append(args, "--move-home", "--home", missing.get("home"))
	}
	for _, option := range [][2]string{
		{"uid", "--uid"},
		{"gid", "--gid"},
		{"gecos", "--comment"},
		{"primary-group", "--gid"},
		{"groups", "--groups"},
		{"shell", "--shell"},
	} {
		if value := missing.get(option[0]); value != "" {
			args = append(args, option[1], value)
		}
	}
	if len(args) > 0 || now.Present != c.Desired.Present {
		if err := d.run(ctx, nil, command, append(args, c.Target)...); err != nil {
			return err
		}
	}
	if hash := missing.get("password"); hash != "" && (now.Present || string(c.Desired.Content) != locked) {
		command := map[ledger.Kind]string{User: "chpasswd", Group: "chgpasswd"}[c.Kind]
		if err := d.run(ctx, []byte(c.Target+":"+string(c.Desired.Content)+"\n"), command, "--encrypted"); err != nil {
			return err
		}
	}
	return d.CleanUp(ctx, nil)
}

// newArgs returns the arguments that only a new account gets.
func newArgs(c ledger.Change) []string {
	var args []string
	if c.Kind == User {
		args = append(args, "--password", locked)
		if !slices.Contains(c.Desired.Names, "no-create-home") {
			args = append(args, "--create-home")
		}
		if home := fields(c.Desired.Names).get("home"); home != "" {
			args = append(args, "--home-dir", home)
		}
	}
	for _, field := range c.Desired.Names {
		if !strings.Contains(field, "=") {
			args = append(args, "--"+field)
		}
	}
	return args
}

// run runs a command of shadow-utils for the tree. No argument may be a secret.
func (d *commands) run(ctx context.Context, stdin []byte, name string, args ...string) error {
	if !d.tree.IsLive() {
		root, err := filepath.Abs(d.tree.Name()) // the commands refuse a relative path
		if err != nil {
			return err
		}
		args = append([]string{"--root", root}, args...)
	}
	lock, err := d.tree.Lock(ctx, turnFile)
	if err != nil {
		return err
	}
	_, err = command.RunInheriting(ctx, lock, stdin, name, args...)
	return errors.Join(err, d.endTurn(lock))
}

// turnFile is locked by each command that is running. A kill of the agent does
// not end the command, and the lock of shadow-utils does not cover all of its run:
// the next run of the agent could read the accounts before they are changed.
const turnFile = "/etc/.hcp-node-agent.accounts"

func (d *commands) endTurn(lock *os.File) error {
	return errors.Join(d.tree.Remove(turnFile), lock.Close())
}

// CleanUp waits for the command of a killed run, and makes durable what the
// commands wrote: they do not sync all of it.
func (d *commands) CleanUp(ctx context.Context, _ []ledger.Change) error {
	running, err := d.tree.Exists(turnFile)
	if err != nil {
		return err
	}
	if running {
		lock, err := d.tree.Lock(ctx, turnFile)
		if err != nil {
			return err
		}
		if err := d.endTurn(lock); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/etc", "/home"} {
		if err := d.tree.SyncFileSystem(dir); err != nil && !hostfs.IsNotExist(err) {
			return err
		}
	}
	return nil
}

var (
	_ ledger.PartialRestorer = (*lines)(nil)
	_ ledger.PartialRestorer = (*memberships)(nil)
	_ ledger.Cleaner         = (*commands)(nil)
	_ ledger.Cleaner         = (*keyFiles)(nil)
)
