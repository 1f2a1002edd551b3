package accounts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// cell is a column of a file.
type cell struct {
	file   string
	column int
}

// giveBackUser brings a user's entries back to how they were. Of a user that
// was and is there, only what the wish named is touched: the rest can have been
// changed by somebody else since.
func (db database) giveBackUser(name string, wish account, before snapshot) error {
	switch {
	case !before.was(passwdFile):
		if err := db.eraseUser(name, wish, before); err != nil {
			return err
		}
		db.giveBackLists(name, before)
	case !db.has(name):
		if err := db.free(name, before); err != nil {
			return err
		}
		db.giveBackLines(name, before)
		db.giveBackLists(name, before)
	default:
		db.giveBackCells(name, before, userCells(wish))
		if len(wish.Groups) > 0 {
			db.giveBackLists(name, before)
		}
	}
	return nil
}

func userCells(wish account) []cell {
	var cells []cell
	add := func(wished bool, more ...cell) {
		if wished {
			cells = append(cells, more...)
		}
	}
	add(wish.UID != nil, cell{passwdFile, colUID})
	add(wish.PrimaryGroup != "", cell{passwdFile, colGID})
	add(wish.Gecos != "", cell{passwdFile, colGecos})
	add(wish.Home != "", cell{passwdFile, colHome})
	add(wish.Shell != "", cell{passwdFile, colShell})
	add(wish.Password != "", cell{passwdFile, colPassword}, cell{shadowFile, colPassword}, cell{shadowFile, colChanged})
	return cells
}

func (db database) giveBackCells(name string, before snapshot, cells []cell) {
	for _, c := range cells {
		if old, was := before.old(c.file, c.column); was {
			db[c.file].set(name, c.column, old)
		}
	}
}

// eraseUser takes the entries of a user that was made away, also where only a
// part of them is there.
func (db database) eraseUser(name string, wish account, before snapshot) error {
	for _, file := range []string{passwdFile, shadowFile, subuidFile, subgidFile} {
		db[file].remove(name)
		if before.was(file) { // a line without an account was there already
			db[file].insert(name, before.Lines[file], before.Order[file])
		}
	}
	if wish.New == nil || !wish.New.OwnGroup || before.was(groupFile) {
		return nil
	}
	return db.eraseGroup(name)
}

func (db database) eraseGroup(name string) error {
	if gid := db.groupID(name); gid >= 0 {
		if users := db.primaryOf(gid); len(users) > 0 {
			return report.Fail(report.Failed, "# give them another one (usermod --gid GROUP USER) and run this again",
				"the group %s is the primary group of %s, so it was not removed", name, strings.Join(users, ", "))
		}
	}
	db[groupFile].remove(name)
	db[gshadowFile].remove(name)
	return nil
}

// free refuses to bring a user back whose number is somebody else's now.
func (db database) free(name string, before snapshot) error {
	old, _ := before.old(passwdFile, colUID)
	if other := db[passwdFile].withNumber(colUID, number(old)); other != "" {
		return report.Fail(report.Failed, fmt.Sprintf("# give %s another number (usermod --uid UID %s) and run this again", other, other),
			"the user %s was not brought back: its number %s is that of %s now", name, old, other)
	}
	return nil
}

func (db database) giveBackLines(name string, before snapshot) {
	for _, file := range accountFiles() {
		if before.was(file) && db[file].fields(name) == nil {
			db[file].insert(name, before.Lines[file], before.Order[file])
		}
	}
}

// giveBackLists puts a user into the lists where it was, at its place, and
// takes it out of the others.
func (db database) giveBackLists(name string, before snapshot) {
	for _, list := range memberLists() {
		for _, group := range db[list.file].names() {
			members := list.of(db, group)
			old := before.Lists[list.key()][group]
			switch is := slices.Contains(members, name); {
			case is && old == nil:
				members = slices.DeleteFunc(members, func(member string) bool { return member == name })
			case !is && old != nil:
				members = slices.Insert(members, place(members, name, old), name)
			default:
				continue
			}
			db[list.file].set(group, list.column, strings.Join(members, ","))
		}
	}
}

// giveBackGroup is giveBackUser for a group.
func (db database) giveBackGroup(name string, wish account, before snapshot) error {
	switch {
	case !before.was(groupFile):
		if err := db.eraseGroup(name); err != nil {
			return err
		}
		if before.was(gshadowFile) {
			db[gshadowFile].insert(name, before.Lines[gshadowFile], before.Order[gshadowFile])
		}
	case !db.hasGroup(name):
		db.giveBackLines(name, before)
	default:
		var cells []cell
		if wish.GID != nil {
			old, _ := before.old(groupFile, colGroupGID)
			for _, user := range before.Primary {
				if db.gid(user) == *wish.GID {
					db[passwdFile].set(user, colGID, strconv.Itoa(number(old)))
				}
			}
			cells = append(cells, cell{groupFile, colGroupGID})
		}
		if wish.Password != "" {
			cells = append(cells, cell{groupFile, colPassword}, cell{gshadowFile, colPassword})
		}
		db.giveBackCells(name, before, cells)
	}
	return nil
}
