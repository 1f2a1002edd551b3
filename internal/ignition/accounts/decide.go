// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The kinds of changes of this package.
const (
	Group           ledger.Kind = "group"
	User            ledger.Kind = "user"
	Keys            ledger.Kind = "keys"           // a file of authorized keys
	KeysDir         ledger.Kind = "keys-directory" // the directory of that file
	groupAccount    ledger.Kind = "group account"  // the lines of a group in the account files
	userAccount     ledger.Kind = "user account"   // the lines of a user
	userMemberships ledger.Kind = "memberships"    // those of a new user, in groups that an undo does not restore
	accountBackup   ledger.Kind = "account-backup" // files that shadow-utils write besides them
)

// locked is a hash that no password has. Ignition sets it for new users.
const locked = "*"

// fields are the fields that a config sets, "shell=/bin/sh" for example, and
// options for useradd and groupadd, "system" for example. They are the Names of
// a state.
type fields []string

func (f fields) with(name string, value *string) fields {
	if util.NotEmpty(value) {
		return append(f, name+"="+*value)
	}
	return f
}

func (f fields) withOption(name string, set *bool) fields {
	if util.IsTrue(set) {
		return append(f, name)
	}
	return f
}

// get returns the value of a field, or "".
func (f fields) get(name string) string {
	for _, field := range f {
		if value, found := strings.CutPrefix(field, name+"="); found {
			return value
		}
	}
	return ""
}

// change returns the change to an account with these fields.
func (f fields) change(kind ledger.Kind, name, hash string) ledger.Change {
	return ledger.Change{
		Kind: kind, Target: name, Reason: fromConfig,
		Desired: ledger.State{Present: true, Value: strings.Join(f, "; "), Names: f, Content: []byte(hash)},
	}
}

const fromConfig = "passwd of the config"

func digestOf(hash *string) *string {
	if !util.NotEmpty(hash) {
		return nil
	}
	return util.StrToPtr("sha256:" + digest(*hash))
}

func idText(id *int) *string {
	if id == nil {
		return nil
	}
	return util.StrToPtr(strconv.Itoa(*id))
}

// decide returns the changes of groups, then of users. What shadow-utils would
// refuse is left to them, but for what could be taken for something else.
func decide(passwd types.Passwd, db database, live bool) ([]ledger.Change, error) {
	var changes []ledger.Change
	for _, g := range passwd.Groups {
		if err := valid(Group, g.Name, g.PasswordHash, db); err != nil {
			return nil, err
		}
		change := ledger.Change{Kind: Group, Target: g.Name, Reason: fromConfig}
		if !util.IsFalse(g.ShouldExist) {
			f := fields{}.with("gid", idText(g.Gid)).with("password", digestOf(g.PasswordHash)).
				withOption("system", g.System)
			change = f.change(Group, g.Name, ptr.Deref(g.PasswordHash, ""))
		} else if users := db.primaryOf(g.Name); len(users) > 0 {
			return nil, report.Fail(report.Refused,
				"# assign another primary group to them, or exclude the group from the config",
				"the group %s cannot be removed: it is the primary group of %s", g.Name, strings.Join(users, ", "))
		}
		changes = append(changes, change)
	}
	for _, u := range passwd.Users {
		if err := valid(User, u.Name, u.PasswordHash, db); err != nil {
			return nil, err
		}
		change := userChange(u)
		if live && db.has(User, u.Name) {
			if err := keepsFiles(change, db); err != nil {
				return nil, err
			}
		}
		changes = append(changes, change)
	}
	return changes, nil
}

func userChange(u types.PasswdUser) ledger.Change {
	if util.IsFalse(u.ShouldExist) {
		return ledger.Change{Kind: User, Target: u.Name, Reason: fromConfig}
	}
	hash := u.PasswordHash
	if hash != nil && *hash == "" {
		hash = util.StrToPtr(locked)
	}
	var groups []string
	for _, group := range u.Groups {
		groups = append(groups, string(group))
	}
	slices.Sort(groups)
	list := strings.Join(slices.Compact(groups), ",")
	f := fields{}.with("uid", idText(u.UID)).with("gecos", u.Gecos).with("home", u.HomeDir).with("shell", u.Shell).
		with("primary-group", u.PrimaryGroup).with("groups", &list).with("password", digestOf(hash)).
		withOption("system", u.System).withOption("no-user-group", u.NoUserGroup).
		withOption("no-log-init", u.NoLogInit).withOption("no-create-home", u.NoCreateHome)
	return f.change(User, u.Name, ptr.Deref(hash, ""))
}

// accountName matches the names that RHEL's shadow-utils accept.
var accountName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_.$-]?$`)

// valid refuses a name that a command would take for an option, and a hash that
// chpasswd would take for several lines. It reports no part of the hash.
func valid(kind ledger.Kind, name string, hash *string, db database) error {
	if !accountName.MatchString(name) && (!db.has(kind, name) || strings.HasPrefix(name, "-")) {
		return report.Fail(report.Usage, "# use a name of at most 32 letters, digits, _, - and .",
			"%q is not a valid name for a %s", name, kind)
	}
	if strings.ContainsAny(ptr.Deref(hash, ""), ":\n\r\x00") {
		return report.Fail(report.Usage, "# use a hash in the format of crypt(5), for example from mkpasswd",
			"passwordHash of the %s %s contains an invalid character", kind, name)
	}
	return nil
}

// keepsFiles refuses a change of an existing user on the running host that would
// remove or move the user's files, or change their owner: the ledger could not
// restore them, and processes of the user can be running.
func keepsFiles(c ledger.Change, db database) error {
	name := report.ShellWord(c.Target)
	if !c.Desired.Present {
		return report.Fail(report.Refused,
			report.Remedy("userdel --remove "+name+" # deletes the home directory too; or exclude the user from the config"),
			"user %s exists, and join does not remove users", c.Target)
	}
	command := ""
	missing := missingFields(c.Desired.Names, db.fields(c))
	for _, option := range [][2]string{{"home", "--move-home --home"}, {"uid", "--uid"}, {"primary-group", "--gid"}} {
		if value := missing.get(option[0]); value != "" {
			command += " " + option[1] + " " + report.ShellWord(value)
		}
	}
	if command == "" {
		return nil
	}
	return report.Fail(report.Refused, report.Remedyf("usermod %s %s # or remove these fields from the config", strings.TrimSpace(command), name),
		"user %s exists, and join does not change the home directory, UID or primary group of users", c.Target)
}

// Announced returns lookups that know the accounts of a config too, without those
// that it removes. An ID that the config does not set is -1.
func Announced(passwd types.Passwd, users, groups Lookup) (u, g Lookup) {
	type announcement struct {
		id      *int
		removed bool
	}
	moreUsers, moreGroups := map[string]announcement{}, map[string]announcement{}
	for _, user := range passwd.Users {
		moreUsers[user.Name] = announcement{id: user.UID, removed: util.IsFalse(user.ShouldExist)}
		if !util.IsFalse(user.ShouldExist) && !util.IsTrue(user.NoUserGroup) && !util.NotEmpty(user.PrimaryGroup) {
			moreGroups[user.Name] = announcement{}
		}
	}
	for _, group := range passwd.Groups {
		moreGroups[group.Name] = announcement{id: group.Gid, removed: util.IsFalse(group.ShouldExist)}
	}
	lookup := func(base Lookup, more map[string]announcement) Lookup {
		return func(name string) (int, bool) {
			id, known := base(name)
			a, announced := more[name]
			switch {
			case a.removed || (!known && !announced):
				return 0, false
			case known:
				return id, true
			case a.id == nil:
				return -1, true
			}
			return *a.id, true
		}
	}
	return lookup(users, moreUsers), lookup(groups, moreGroups)
}
