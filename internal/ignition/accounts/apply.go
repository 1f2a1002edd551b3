// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Input contains the desired accounts and the state of the host.
type Input struct {
	Passwd types.Passwd
	Tree   *hostfs.Tree
	Live   bool // the tree is the running host, whose users keep their keys and files
	Items  []ledger.Item
	// HomesUnknown is set if the tree has no home directories although its users may have some. The
	// keys of existing users are not planned then.
	HomesUnknown bool
}

// UsersWithKeys returns the users whose SSH keys are desired.
func (in Input) UsersWithKeys() []string {
	var names []string
	for _, user := range in.Passwd.Users {
		if len(user.SSHAuthorizedKeys) > 0 {
			names = append(names, user.Name)
		}
	}
	return names
}

// Plan returns the changes of groups and users, then those of the keys of users
// that exist already. It fails if the config cannot be applied.
func Plan(ctx context.Context, in Input) ([]ledger.Change, error) {
	if len(in.Passwd.Groups)+len(in.Passwd.Users) == 0 {
		return nil, nil
	}
	db, err := readDatabase(in.Tree)
	if err != nil {
		return nil, err
	}
	for _, item := range in.Items {
		interrupted := item.Kind == User && !item.Done && !item.Before.Present
		if interrupted && db.has(User, item.Target) && db.hash(User, item.Target) == "x" {
			return nil, report.Fail(report.Refused,
				report.Remedy("userdel "+report.ShellWord(item.Target)+" # the next run adds the user again"),
				"the entry of user %s in %s is incomplete: useradd was interrupted", item.Target, passwdFile)
		}
	}
	changes, err := decide(in.Passwd, db, in.Live)
	if err != nil {
		return nil, err
	}
	if err := checkShadowFiles(in.Tree, changes, db); err != nil {
		return nil, err
	}
	keys, err := keyChanges(ctx, in, db)
	return append(changes, keys...), err
}

// checkShadowFiles refuses password hashes for a tree without /etc/shadow or /etc/gshadow: shadow-utils
// would write them to /etc/passwd or /etc/group, which every user can read.
func checkShadowFiles(tree *hostfs.Tree, changes []ledger.Change, db database) error {
	for _, c := range changes {
		hash, file := string(c.Desired.Content), filesOf(c.Kind)[1]
		if hash == "" || hash == locked || db[file].info.Type == hostfs.Regular {
			continue
		}
		command := map[ledger.Kind]string{User: "pwconv", Group: "grpconv"}[c.Kind]
		if !tree.IsLive() {
			command += " --root " + report.ShellWord(tree.Name())
		}
		return report.Fail(report.Refused, report.Remedy(command+" # creates "+file),
			"the password hash of %s %s would be readable by every user, because %s does not exist", c.Kind, c.Target, file)
	}
	return nil
}

// Apply changes groups and users, then the keys, and returns the changes that it
// made. After an error, too, the ledger contains all of them.
func Apply(ctx context.Context, l *ledger.Ledger, step string, in Input) ([]ledger.PlannedChange, error) {
	if err := (&commands{tree: in.Tree}).CleanUp(ctx, nil); err != nil {
		return nil, err
	}
	in.Items = l.Items()
	changes, err := Plan(ctx, in)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c ledger.Change) bool { return c.Kind != User && c.Kind != Group })
	made, err := applyAccounts(ctx, l, step, in, changes)
	if err != nil {
		return made, err
	}
	db, err := readDatabase(in.Tree)
	if err != nil {
		return made, err
	}
	keys, err := keyChanges(ctx, in, db)
	if err != nil {
		return made, err
	}
	more, err := l.Apply(ctx, step, keys)
	return append(made, more...), err
}

// applyAccounts records what the commands write, runs them, and records what they
// have left. Records that a killed run has not completed are completed too.
func applyAccounts(
	ctx context.Context, l *ledger.Ledger, step string, in Input, changes []ledger.Change,
) ([]ledger.PlannedChange, error) {
	pending, err := l.Diff(ctx, changes)
	if err != nil {
		return nil, err
	}
	var written []ledger.Change
	for _, item := range in.Items {
		if !item.Done && slices.Contains([]ledger.Kind{accountBackup, userMemberships, groupAccount, userAccount}, item.Kind) {
			written = append(written, item.Change)
		}
	}
	if len(pending) > 0 {
		more, err := writtenBy(in.Tree, pending)
		if err != nil {
			return nil, err
		}
		written = append(written, more...)
	}
	if len(written) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	written = slices.DeleteFunc(written, func(c ledger.Change) bool {
		again := known[c.Key()]
		known[c.Key()] = true
		return again
	})
	end, err := l.TrackExternal(ctx, step, written...)
	if err != nil {
		return nil, err
	}
	made, err := l.Apply(ctx, step, changes)
	return made, errors.Join(err, end())
}

// record returns the change that records something that shadow-utils write.
func record(kind ledger.Kind, target string) ledger.Change {
	return ledger.Change{Kind: kind, Target: target, Reason: "written by shadow-utils", Desired: ledger.State{Present: true}}
}

// writtenBy returns what the commands for some changes will write. An undo
// restores it in the opposite order: homes, users, groups.
func writtenBy(tree *hostfs.Tree, pending []ledger.PlannedChange) ([]ledger.Change, error) {
	db, err := readDatabase(tree)
	if err != nil {
		return nil, err
	}
	backups := []ledger.Change{record(accountBackup, "/etc/.pwd.lock")}
	for _, file := range slices.Concat(filesOf(User), filesOf(Group)) {
		if (file == passwdFile || file == groupFile) && db[file].info.Type != hostfs.Regular {
			return nil, report.Fail(report.Refused, report.Remedy("dnf --installroot "+report.ShellWord(tree.Name())+
				" --releasever 9 install setup shadow-utils # or use another release, or the tree of an image"),
				"users and groups of the config require %s, which does not exist in %s", file, tree.Name())
		}
		backups = append(backups, record(accountBackup, file+"-"))
	}
	var groups, users, homes []ledger.Change
	for _, p := range pending {
		own, user := record(groupAccount, p.Target), record(userAccount, p.Target)
		own.Desired.Present, user.Desired.Present = p.Desired.Present, p.Desired.Present
		groups = append(groups, own) // of a user: the group of that name
		if p.Kind == Group {
			for _, name := range db.primaryOf(p.Target) {
				users = append(users, record(userAccount, name))
			}
			continue
		}
		users = append(users, user)
		for _, group := range append(db.groupsOf(p.Target), split(fields(p.Desired.Names).get("groups"))...) {
			groups = append(groups, record(groupAccount, db.groupName(group)))
		}
		if !p.Now.Present && p.Desired.Present {
			backups = append(backups, record(userMemberships, p.Target))
			home, err := homeOf(tree, p.Change)
			if err != nil {
				return nil, err
			}
			homes = append(homes, home...)
		}
	}
	return slices.Concat(backups, groups, users, homes), nil
}

// homeOf returns what useradd makes for a user besides its lines: the mail spool
// and the home directory, with what the user will put there. An undo removes
// the spool and the files of the skeleton if they are as useradd made them.
func homeOf(tree *hostfs.Tree, c ledger.Change) ([]ledger.Change, error) {
	places := map[string]string{"MAIL_DIR": "/var/spool/mail", "HOME": "/home", "SKEL": "/etc/skel"}
	for _, file := range []string{"/etc/login.defs", "/etc/default/useradd"} {
		content, _, err := tree.ReadFile(file)
		if err != nil && !hostfs.IsNotExist(err) {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("= \t\n\"", r) })
			if len(words) > 1 && places[words[0]] != "" {
				places[words[0]] = path.Join("/", words[1])
			}
		}
	}
	written := []ledger.Change{record(accountBackup, path.Join(places["MAIL_DIR"], c.Target))}
	home := path.Join(places["HOME"], c.Target)
	if wanted := fields(c.Desired.Names).get("home"); wanted != "" {
		home = path.Clean(wanted)
	}
	missing, err := tree.MissingDirs(home)
	if err != nil || len(missing) == 0 || slices.Contains(c.Desired.Names, "no-create-home") {
		return written, err
	}
	written = append(written, record(ledger.SharedContents, missing[0]))
	skeleton, err := tree.Exists(places["SKEL"])
	if err != nil || !skeleton {
		return written, err
	}
	err = tree.Walk(places["SKEL"], func(p string, info hostfs.Info) error {
		if info.Type != hostfs.Directory {
			written = append(written, record(accountBackup, path.Join(home, strings.TrimPrefix(p, places["SKEL"]))))
		}
		return nil
	})
	return written, err
}
