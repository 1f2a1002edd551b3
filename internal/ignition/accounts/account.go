// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// account is a group or user of a config.
type account struct {
	kind         ledger.Kind
	name         string
	mustBeAbsent bool
	hash         string   // of the password, "" if the config sets none
	options      []string // for the creation of the account
	settings     []setting
	primaryGroup string // of a user
	home         string // that is created with a user
}

// setting is a setting of an account. A setting that the config does not set is
// not wanted.
type setting struct{ name, option, wanted, now string }

func newGroup(g types.PasswdGroup, db database) account {
	a := account{
		kind:         Group,
		name:         g.Name,
		mustBeAbsent: util.IsFalse(g.ShouldExist),
		hash:         ptr.Deref(g.PasswordHash, ""),
		settings:     []setting{{"gid", "--gid", idText(g.Gid), db.get(groupFile, g.Name, colID)}},
	}
	if util.IsTrue(g.System) {
		a.options = append(a.options, "--system")
	}
	return a
}

// locked is a hash that no password has. Ignition sets it for new users.
const locked = "*"

func newUser(u types.PasswdUser, db database) account {
	a := account{
		kind:         User,
		name:         u.Name,
		mustBeAbsent: util.IsFalse(u.ShouldExist),
		hash:         ptr.Deref(u.PasswordHash, ""),
		options:      []string{"--password", locked},
		primaryGroup: ptr.Deref(u.PrimaryGroup, ""),
	}
	if u.PasswordHash != nil && a.hash == "" {
		a.hash = locked
	}
	for _, option := range []struct {
		name string
		set  *bool
	}{
		{"--system", u.System},
		{"--no-user-group", u.NoUserGroup},
		{"--no-log-init", u.NoLogInit},
		{"--no-create-home", u.NoCreateHome},
	} {
		if util.IsTrue(option.set) {
			a.options = append(a.options, option.name)
		}
	}
	if !util.IsTrue(u.NoCreateHome) {
		a.options = append(a.options, "--create-home")
		a.home = db.homeOf(u)
	}
	var groups []string
	for _, group := range u.Groups {
		groups = append(groups, string(group))
	}
	slices.Sort(groups)
	wantedHome, home := ptr.Deref(u.HomeDir, ""), db.get(passwdFile, u.Name, colHome)
	if path.Clean(home) == path.Clean(wantedHome) {
		home = wantedHome
	}
	gid := db.get(passwdFile, u.Name, colGID)
	if gid == db.gid(a.primaryGroup) {
		gid = a.primaryGroup
	}
	a.settings = []setting{
		{"uid", "--uid", idText(u.UID), db.get(passwdFile, u.Name, colID)},
		{"gecos", "--comment", ptr.Deref(u.Gecos, ""), db.get(passwdFile, u.Name, colGecos)},
		{"homeDir", "-d", wantedHome, home}, // --home-dir of useradd, --home of usermod
		{"primaryGroup", "--gid", a.primaryGroup, gid},
		{"groups", "--groups", strings.Join(slices.Compact(groups), ","), strings.Join(db.groupsOf(u.Name), ",")},
		{"shell", "--shell", ptr.Deref(u.Shell, ""), db.get(passwdFile, u.Name, colShell)},
	}
	return a
}

// homeOf returns the home directory of a user that does not exist yet.
func (db database) homeOf(u types.PasswdUser) string {
	if home := ptr.Deref(u.HomeDir, ""); home != "" {
		return path.Clean(home)
	}
	homes := "/home"
	for _, line := range db[useraddFile] {
		if value, found := strings.CutPrefix(line, "HOME="); found {
			homes = path.Join("/", value)
		}
	}
	return path.Join(homes, u.Name)
}

func idText(id *int) string {
	if id == nil {
		return ""
	}
	return strconv.Itoa(*id)
}

// differences returns the settings that differ from the config.
func (a account) differences() []setting {
	return slices.DeleteFunc(slices.Clone(a.settings), func(s setting) bool {
		return s.wanted == "" || s.wanted == s.now
	})
}

// change returns the change that creates the account and sets its password hash.
func (a account) change() ledger.Change {
	c := ledger.Change{
		Kind:    a.kind,
		Target:  a.name,
		Reason:  "passwd of the config",
		Desired: ledger.State{Present: true, Content: []byte(a.hash)},
		Args:    slices.Clone(a.options),
	}
	if a.hash != "" {
		c.Desired.Value = describeHash(a.hash)
	}
	for _, s := range a.settings {
		if s.wanted != "" {
			c.Args = append(c.Args, s.option, s.wanted)
		}
	}
	return c
}

// describeHash returns a text that reveals nothing of a password hash.
func describeHash(hash string) string { return "password hash with sha256 " + digest(hash) }
