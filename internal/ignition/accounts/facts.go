package accounts

import (
	"context"
	"errors"
	"os"
	"path"
	"strconv"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// facts is what the decisions need to know of a tree, and of the machine where
// the tree is the running one.
type facts struct {
	live       bool
	db         database
	defs       settings
	unfinished map[string]bool    // keys of changes that an ended run began
	missing    []string           // programs
	estates    map[string]estate  // of users that shall not exist
	places     map[string]newHome // of users whose home is to be moved

	// Only of the running machine:
	elsewhere map[string]string // what NSS knows and the files do not: "passwd NAME or ID" to its name
	busy      map[string]int    // a process of a user
	sudoUser  string
}

// newHome is where a home is to be moved.
type newHome struct {
	from, to    host.FileType
	parent      bool // of the new place is there
	otherDevice bool
}

func programs() []string {
	return []string{"groupadd", "groupmod", "groupdel", "chgpasswd", "useradd", "usermod", "userdel", "chpasswd"}
}

func lookFacts(ctx context.Context, in Input) (facts, error) {
	f := facts{
		live: in.Live, unfinished: map[string]bool{}, estates: map[string]estate{}, places: map[string]newHome{},
		elsewhere: map[string]string{}, busy: map[string]int{},
	}
	for _, item := range in.Items {
		if !item.Done {
			f.unfinished[item.Key()] = true
		}
	}
	var err error
	if f.db, err = readDatabase(in.Tree); err != nil {
		return f, err
	}
	if f.defs, err = loginDefs(in.Tree); err != nil {
		return f, err
	}
	for _, program := range programs() {
		if !host.HasProgram(program) {
			f.missing = append(f.missing, program)
		}
	}
	for _, user := range in.Passwd.Users {
		if err := f.lookUser(in.Tree, user); err != nil {
			return f, err
		}
	}
	if in.Live {
		f.sudoUser = os.Getenv("SUDO_USER")
		err = f.lookNames(ctx, in.Passwd)
	}
	return f, err
}

func (f *facts) lookUser(tree *host.Tree, user types.PasswdUser) error {
	if !f.db.has(user.Name) {
		return nil
	}
	home := path.Clean("/" + f.db.home(user.Name))
	if util.IsFalse(user.ShouldExist) {
		e, err := lookEstate(tree, f.defs, user.Name, home)
		if err != nil {
			return err
		}
		f.estates[user.Name] = e
	}
	if to := path.Clean("/" + text(user.HomeDir)); to != "/" && to != home {
		place, err := lookPlace(tree, home, to)
		if err != nil {
			return err
		}
		f.places[user.Name] = place
	}
	if !f.live {
		return nil
	}
	pids, err := host.Processes(f.db.uid(user.Name))
	if len(pids) > 0 {
		f.busy[user.Name] = pids[0]
	}
	return err
}

func lookPlace(tree *host.Tree, from, to string) (newHome, error) {
	source, err := tree.Lstat(from)
	if err != nil {
		return newHome{}, err
	}
	target, err := tree.Lstat(to)
	if err != nil {
		return newHome{}, err
	}
	place := newHome{from: source.Type, to: target.Type}
	sub, parent, err := tree.Sub(path.Dir(to))
	if gone(err) {
		return place, nil
	}
	if err != nil {
		return place, err
	}
	sub.Close()
	place.parent, place.otherDevice = true, parent.Device != source.Device
	return place, nil
}

// lookNames asks NSS for the names and numbers that the config brings: a
// directory service can have them, and useradd refuses those.
func (f *facts) lookNames(ctx context.Context, passwd types.Passwd) error {
	ask := func(database, key string, here func(name string) bool) error {
		out, err := host.Run(ctx, "getent", database, key)
		var failed *host.CommandError
		if errors.As(err, &failed) || errors.Is(err, host.ErrNoProgram) {
			return nil // not found
		}
		if name := nameOf(out); name != "" && !here(name) {
			f.elsewhere[database+" "+key] = name
		}
		return err
	}
	for _, user := range passwd.Users {
		if err := ask("passwd", user.Name, f.db.has); err != nil {
			return err
		}
		if user.UID != nil {
			if err := ask("passwd", strconv.Itoa(*user.UID), f.db.has); err != nil {
				return err
			}
		}
	}
	for _, group := range passwd.Groups {
		if err := ask("group", group.Name, f.db.hasGroup); err != nil {
			return err
		}
		if group.Gid != nil {
			if err := ask("group", strconv.Itoa(*group.Gid), f.db.hasGroup); err != nil {
				return err
			}
		}
	}
	return nil
}

// pending tells whether a change of an account is still to be made.
func (f facts) pending(c ledger.Change) bool {
	wish, err := wishOf(c)
	if err != nil {
		return true
	}
	now := ledger.State{}
	switch c.Kind {
	case User:
		now.Present = f.db.has(c.Target)
		now.Value, err = f.db.user(c.Target, wish).value()
	case Group:
		now.Present = f.db.hasGroup(c.Target)
		now.Value, err = f.db.group(c.Target, wish).value()
	default:
		return false
	}
	return err != nil || !c.Same(now)
}
