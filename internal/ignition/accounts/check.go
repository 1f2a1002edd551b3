// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checker refuses accounts before anything is changed. What shadow-utils would
// refuse is left to them, except what could be taken for something else.
type checker struct {
	in Input
	db database
}

// accountName matches the names that RHEL's shadow-utils accept.
var accountName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_.$-]?$`)

// check returns an error if the account cannot be created, or exists and differs.
// No error contains a part of the hash.
func (c checker) check(a account) error {
	exists := c.db.has(a.kind, a.name)
	switch {
	case !accountName.MatchString(a.name) && (!exists || strings.HasPrefix(a.name, "-")):
		// A command could take the name for an option.
		return report.Fail(report.Usage, "# use a name of at most 32 letters, digits, _, - and .",
			"%q is not a valid name for a %s", a.name, a.kind)
	case strings.ContainsAny(a.hash, ":\n\r\x00"):
		// chpasswd would read several accounts.
		return report.Fail(report.Usage, "# use a hash in the format of crypt(5), for example from mkpasswd",
			"passwordHash of the %s %s contains an invalid character", a.kind, a.name)
	case !exists && a.mustBeAbsent:
		return nil
	case !exists:
		return c.checkNew(a)
	case a.mustBeAbsent:
		command := map[ledger.Kind]string{User: "userdel --remove", Group: "groupdel"}[a.kind]
		return report.Fail(report.Refused, c.remedy(command, a.name, "or exclude the "+string(a.kind)+" from the config"),
			"%s %s exists, and the agent does not remove existing users and groups", a.kind, a.name)
	}
	return c.checkExisting(a)
}

// checkNew refuses an account that cannot be created or removed safely.
func (c checker) checkNew(a account) error {
	if file := accountFiles[a.kind]; c.db[file] == nil {
		return report.Fail(report.Refused,
			report.Remedyf("dnf --installroot %s --releasever 9 install setup shadow-utils "+
				"# or use another release, or the tree of an image", report.ShellWord(c.in.Tree.Name())),
			"users and groups of the config require %s, which does not exist in %s", file, c.in.Tree.Name())
	}
	if group := a.primaryGroup; group == a.name && c.db.has(Group, group) && c.created(Group, group) == nil {
		return report.Fail(report.Refused, "# use another primary group, or exclude the user from the config",
			"the new user %s cannot have the existing group of its name as primary group: "+
				"userdel would remove the group", a.name)
	}
	return c.checkHashFile(a)
}

// checkHashFile refuses password hashes for a tree without /etc/shadow or /etc/gshadow: shadow-utils
// would write them to /etc/passwd or /etc/group, which every user can read.
func (c checker) checkHashFile(a account) error {
	file := hashFiles[a.kind]
	if a.hash == "" || a.hash == locked || c.db[file] != nil {
		return nil
	}
	command := map[ledger.Kind]string{User: "pwconv", Group: "grpconv"}[a.kind]
	return report.Fail(report.Refused, c.remedy(command, "", "creates "+file),
		"the password hash of %s %s would be readable by every user, because %s does not exist", a.kind, a.name, file)
}

// checkExisting refuses an account that differs from the config. Of an account that
// the agent created, the password hash can change: an undo removes the account.
func (c checker) checkExisting(a account) error {
	created := c.created(a.kind, a.name)
	hash := c.db.hash(a.kind, a.name)
	if created != nil && !created.Done && a.kind == User && hash == "x" {
		return report.Fail(report.Refused, c.remedy("userdel", a.name, "the next run adds the user again"),
			"the entry of user %s in %s is incomplete: useradd was interrupted", a.name, passwdFile)
	}
	var names, args []string
	for _, s := range a.differences() {
		names, args = append(names, s.name), append(args, s.option, report.ShellWord(s.wanted))
	}
	if created == nil && a.hash != "" && a.hash != hash {
		names = append(names, "passwordHash")
	}
	if len(names) == 0 {
		return c.checkHashFile(a)
	}
	note := "or exclude the " + string(a.kind) + " from the config"
	remedy := report.Remedy("# set the password hash, " + note)
	if len(args) > 0 {
		remedy = c.remedy(string(a.kind)+"mod "+strings.Join(args, " "), a.name, note)
	}
	return report.Fail(report.Refused, remedy,
		"%s %s exists, and the agent does not change its settings; the config sets another %s",
		a.kind, a.name, strings.Join(names, ", "))
}

// created returns the item of an account that the agent created, or nil.
func (c checker) created(kind ledger.Kind, name string) *ledger.Item {
	i := slices.IndexFunc(c.in.Items, func(item ledger.Item) bool {
		return item.Kind == kind && item.Target == name && !item.Before.Present
	})
	if i < 0 {
		return nil
	}
	return &c.in.Items[i]
}

// remedy returns a command of shadow-utils for the tree.
func (c checker) remedy(command, name, note string) report.Remedy {
	words := append([]string{command}, rootArguments(c.in.Tree)...)
	if name != "" {
		words = append(words, report.ShellWord(name))
	}
	return report.Remedy(strings.Join(append(words, "#", note), " "))
}

// rootArguments returns the arguments of shadow-utils for a tree. The commands refuse
// a relative path.
func rootArguments(tree hostfs.Reader) []string {
	if tree.IsLive() {
		return nil
	}
	root, err := filepath.Abs(tree.Name())
	if err != nil {
		root = tree.Name()
	}
	return []string{"--root", root}
}
