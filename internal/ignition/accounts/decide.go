package accounts

import (
	"strconv"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const fromConfig = "passwd of the config"

// decision is a plan in the making: what is known of groups and users at each
// point of it. A number that is not known yet is -1.
type decision struct {
	facts
	problems problems
	changes  []ledger.Change
	users    map[string]int
	groups   map[string]int
}

// decide turns the passwd section into changes, groups first, or tells all
// that stands against it. It changes nothing.
func decide(passwd types.Passwd, f facts) ([]ledger.Change, error) {
	d := &decision{facts: f, users: numbers(f.db[passwdFile]), groups: numbers(f.db[groupFile])}
	for _, group := range passwd.Groups {
		if err := d.group(group); err != nil {
			return nil, err
		}
	}
	for _, user := range passwd.Users {
		if err := d.user(user); err != nil {
			return nil, err
		}
	}
	for _, c := range d.changes {
		if len(f.missing) > 0 && f.pending(c) {
			d.problems.host("dnf install shadow-utils", "programs that make accounts are missing: %v", f.missing)
			break
		}
	}
	return d.changes, d.problems.err()
}

// numbers gives the ids of passwd or group, which have them in one column.
func numbers(t *table) map[string]int {
	ids := map[string]int{}
	for _, name := range t.names() {
		ids[name] = number(t.column(name, colUID))
	}
	return ids
}

func holder(ids map[string]int, id int) string {
	for name, other := range ids {
		if other == id {
			return name
		}
	}
	return ""
}

func (d *decision) wish(kind ledger.Kind, name string, wish account, hash []byte) error {
	value, err := wish.value()
	if err != nil {
		return err
	}
	if value == "{}" {
		return nil // one that is there, of which nothing is wished
	}
	d.changes = append(d.changes, ledger.Change{
		Kind: kind, Target: name, Why: fromConfig, Want: ledger.State{Present: true, Value: value, Content: hash},
	})
	return nil
}

// isNew tells whether an account is to be made: also when a run that was ended
// had only begun to.
func (d *decision) isNew(kind ledger.Kind, name string, there bool) bool {
	return !there || d.unfinished[ledger.Change{Kind: kind, Target: name}.Key()]
}

func (d *decision) group(g types.PasswdGroup) error {
	there := d.db.hasGroup(g.Name)
	if !d.checkName("group", g.Name, there) {
		return nil
	}
	if util.IsFalse(g.ShouldExist) {
		d.checkGroupRemoval(g.Name, there)
		delete(d.groups, g.Name)
		d.changes = append(d.changes, ledger.Change{Kind: Group, Target: g.Name, Why: fromConfig})
		return nil
	}
	wish, hash := groupWish(g, d.isNew(Group, g.Name, there))
	d.checkHash("group", g.Name, hash)
	d.checkGroupNumber(g, there)
	if _, known := d.groups[g.Name]; !known || g.Gid != nil {
		d.groups[g.Name] = idOf(g.Gid)
	}
	return d.wish(Group, g.Name, wish, hash)
}

func (d *decision) user(u types.PasswdUser) error {
	there := d.db.has(u.Name)
	if !d.checkName("user", u.Name, there) {
		return nil
	}
	if util.IsFalse(u.ShouldExist) {
		if there {
			d.checkRemoval(u.Name)
			estate := d.estates[u.Name]
			d.changes = append(d.changes, estate.Entries...)
			if estate.Mail != "" {
				d.changes = append(d.changes, ledger.Change{Kind: ledger.File, Target: estate.Mail, Why: "mail of " + u.Name + ", which is removed"})
			}
		}
		delete(d.users, u.Name)
		d.changes = append(d.changes, ledger.Change{Kind: User, Target: u.Name, Why: fromConfig})
		return nil
	}
	wish, hash := userWish(u, d.isNew(User, u.Name, there), d.defs.userGroups())
	d.checkFields(u.Name, wish)
	d.checkHash("user", u.Name, hash)
	d.checkGroups(u.Name, wish)
	d.checkUserNumber(u, there)
	if there {
		d.checkMove(u.Name, wish)
	} else if wish.New.OwnGroup {
		d.checkOwnGroup(u.Name)
	}
	if _, known := d.users[u.Name]; !known || u.UID != nil {
		d.users[u.Name] = idOf(u.UID)
	}
	return d.wish(User, u.Name, wish, hash)
}

// idOf is -1 where the config leaves the number to the machine.
func idOf(id *int) int {
	if id == nil {
		return -1
	}
	return *id
}

// hasGroupNamed is for names and numbers, as shadow-utils take both.
func (d *decision) hasGroupNamed(group string) bool {
	if id, err := strconv.Atoi(group); err == nil {
		return holder(d.groups, id) != ""
	}
	_, known := d.groups[group]
	return known
}

// Announced adds to what a tree has the names that the config will make, with
// the number -1 where the config does not give it, and takes away those that it
// removes: so who refers to a name can be told early that nobody will have it.
func Announced(passwd types.Passwd, users, groups Lookup) (u, g Lookup) {
	ahead := func(base Lookup, more map[string]int, less map[string]bool) Lookup {
		return func(name string) (int, bool) {
			if less[name] {
				return 0, false
			}
			if id, known := base(name); known {
				return id, true
			}
			id, made := more[name]
			return id, made
		}
	}
	moreUsers, moreGroups := map[string]int{}, map[string]int{}
	lessUsers, lessGroups := map[string]bool{}, map[string]bool{}
	for _, group := range passwd.Groups {
		if util.IsFalse(group.ShouldExist) {
			lessGroups[group.Name] = true
			continue
		}
		moreGroups[group.Name] = idOf(group.Gid)
	}
	for _, user := range passwd.Users {
		if util.IsFalse(user.ShouldExist) {
			lessUsers[user.Name] = true
			continue
		}
		moreUsers[user.Name] = idOf(user.UID)
		if _, known := moreGroups[user.Name]; !known && !util.IsTrue(user.NoUserGroup) && text(user.PrimaryGroup) == "" {
			moreGroups[user.Name] = -1
		}
	}
	return ahead(users, moreUsers, lessUsers), ahead(groups, moreGroups, lessGroups)
}
