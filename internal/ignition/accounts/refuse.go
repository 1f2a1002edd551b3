package accounts

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// validName is what RHEL's shadow-utils take; they refuse names of digits, too.
var validName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_.$-]?$`)

// checkName: a name that is there is accepted as it is, but never one that a
// program could take for an option.
func (d *decision) checkName(kind, name string, there bool) bool {
	_, err := strconv.Atoi(name)
	valid := validName.MatchString(name) && len(name) <= 32 && err != nil && name != "." && name != ".."
	if valid || (there && !strings.HasPrefix(name, "-")) {
		return true
	}
	d.problems.config("# give it a name of at most 32 letters, digits, _, - and ., not only digits", "%q is not a name for a %s", name, kind)
	return false
}

func (d *decision) checkFields(user string, wish account) {
	for _, field := range []struct {
		name, value string
		isPath      bool
	}{{"gecos", wish.Gecos, false}, {"homeDir", wish.Home, true}, {"shell", wish.Shell, true}} {
		if strings.ContainsAny(field.value, ":\n\r\x00") {
			d.problems.config("# take the colon or the control character out of it", "%s of the user %s cannot be written to passwd(5)", field.name, user)
		}
		if field.isPath && field.value != "" && !strings.HasPrefix(field.value, "/") {
			d.problems.config("# give an absolute path", "%s %q of the user %s does not begin with /", field.name, field.value, user)
		}
	}
}

// checkHash does not show the hash.
func (d *decision) checkHash(kind, name string, hash []byte) {
	if strings.ContainsAny(string(hash), ":\n\r\x00") {
		d.problems.config("# give the hash as crypt(5) has it, for example from mkpasswd", "passwordHash of the %s %s has a character that no hash has", kind, name)
	}
}

func (d *decision) checkGroups(user string, wish account) {
	named := wish.Groups
	if wish.PrimaryGroup != "" {
		named = append([]string{wish.PrimaryGroup}, named...)
	}
	for _, group := range named {
		if !d.hasGroupNamed(group) {
			d.problems.host("# name groups that are there, or add them to passwd.groups", "the group %q of the user %s does not exist and the config does not make it", group, user)
		}
	}
}

func (d *decision) checkGroupRemoval(group string, there bool) {
	if !there {
		return
	}
	if users := d.db.primaryOf(d.db.groupID(group)); len(users) > 0 {
		d.problems.host("# give them another primary group before", "the group %s cannot be removed: it is the primary group of %s", group, strings.Join(users, ", "))
	}
}

func (d *decision) checkGroupNumber(g types.PasswdGroup, there bool) {
	if other := d.elsewhere["group "+g.Name]; other != "" && !there {
		d.problems.host("# leave it out of the config, or rename it", "the group %s is known here from a directory service (getent group %s), not from /etc/group", g.Name, g.Name)
	}
	if g.Gid == nil || d.groups[g.Name] == *g.Gid && there {
		return
	}
	other := holder(d.groups, *g.Gid)
	if other == "" {
		other = d.elsewhere["group "+strconv.Itoa(*g.Gid)]
	}
	if other != "" && other != g.Name {
		d.problems.host("# give it another gid", "the gid %d of the group %s is that of the group %s", *g.Gid, g.Name, other)
	}
}

func (d *decision) checkUserNumber(u types.PasswdUser, there bool) {
	if other := d.elsewhere["passwd "+u.Name]; other != "" && !there {
		d.problems.host("# leave it out of the config, or rename it", "the user %s is known here from a directory service (getent passwd %s), not from /etc/passwd", u.Name, u.Name)
	}
	if u.UID == nil || (there && d.users[u.Name] == *u.UID) {
		return
	}
	if there && d.users[u.Name] == 0 {
		d.problems.config("# leave its uid out of the config", "the uid of %s, which is root, is not changed", u.Name)
	}
	other := holder(d.users, *u.UID)
	if other == "" {
		other = d.elsewhere["passwd "+strconv.Itoa(*u.UID)]
	}
	if other != "" && other != u.Name {
		d.problems.host("# give it another uid", "the uid %d of the user %s is that of the user %s", *u.UID, u.Name, other)
	}
}

// checkOwnGroup: useradd refuses to make a group that is there.
func (d *decision) checkOwnGroup(user string) {
	if _, there := d.groups[user]; there {
		d.problems.config(fmt.Sprintf("# set primaryGroup: %s for it", user), "the user %s would get a group of its own, and there is one of that name", user)
		return
	}
	d.groups[user] = -1
}

// checkMove: usermod would fail after it has written the new entry.
func (d *decision) checkMove(user string, wish account) {
	m := d.db.moveOf(user, wish)
	if pid := d.busy[user]; pid > 0 && (m.from != m.to || m.uid != m.newUID) {
		d.problems.host(terminate(user), "the user %s gets another uid or home, and its process %d is running", user, pid)
	}
	place, moves := d.places[user]
	if !moves || place.from == host.Absent {
		return
	}
	why := ""
	switch {
	case place.from != host.Directory:
		why = fmt.Sprintf("it is a %s", place.from)
	case place.to != host.Absent && place.from != host.Absent:
		why = "something is there already"
	case !place.parent:
		why = path.Dir(m.to) + " does not exist"
	case place.otherDevice:
		why = "that is another file system"
	}
	if why != "" {
		d.problems.host("# move it by hand, or leave homeDir out of the config", "the home %s of the user %s cannot be moved to %s: %s", m.from, user, m.to, why)
	}
}

func terminate(user string) string {
	return "loginctl terminate-user " + user + " # ends its processes"
}

func (d *decision) checkRemoval(user string) {
	const byHand = "# remove what is in the way by hand, or leave the user out of the config"
	uid, e := d.db.uid(user), d.estates[user]
	if uid == 0 {
		d.problems.config("# leave it out of the config", "the user %s is root, which is not removed", user)
		return
	}
	if d.live && user == d.sudoUser {
		d.problems.host("# run this as somebody else, or leave the user out of the config", "the user %s runs this program (by sudo), so it is not removed", user)
	}
	if pid := d.busy[user]; pid > 0 {
		d.problems.host(terminate(user), "the user %s is to be removed, and its process %d is running", user, pid)
	}
	if e.Mail != "" && e.MailOwner != uid {
		d.problems.host(byHand, "the mail spool %s of the user %s belongs to somebody else (uid %d)", e.Mail, user, e.MailOwner)
	}
	if e.Home == "" {
		return
	}
	why := ""
	switch {
	case e.Owner != uid:
		why = fmt.Sprintf("belongs to somebody else (uid %d)", e.Owner)
	case e.Type != host.Directory:
		why = fmt.Sprintf("is a %s", e.Type)
	case e.Mount != "":
		why = "has a file system mounted at " + e.Mount
	case e.Special != "":
		why = "holds a special file, which could not be given back: " + e.Special
	case len(e.Entries) > maxHomeEntries || e.Bytes > maxHomeBytes:
		why = fmt.Sprintf("holds more than %d entries or %d MiB, which would have to be kept for a way back", maxHomeEntries, maxHomeBytes>>20)
	case d.homeWithin(user, e.Home) != "":
		why = "has the home of the user " + d.homeWithin(user, e.Home) + " in it"
	}
	if why != "" {
		d.problems.host(byHand, "the user %s cannot be removed: its home %s %s", user, e.Home, why)
	}
}

func (d *decision) homeWithin(user, home string) string {
	for _, other := range d.db[passwdFile].names() {
		if other != user && host.Within(d.db.home(other), home) {
			return other
		}
	}
	return ""
}
