package accounts

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// The files that hold the accounts, below /etc. They are written in this order:
// an account is gone, or there, from the moment that passwd says so.
const (
	shadowFile  = "shadow"
	gshadowFile = "gshadow"
	subuidFile  = "subuid"
	subgidFile  = "subgid"
	groupFile   = "group"
	passwdFile  = "passwd"
)

func accountFiles() []string {
	return []string{shadowFile, gshadowFile, subuidFile, subgidFile, groupFile, passwdFile}
}

// The columns of passwd(5), group(5), gshadow(5) and shadow(5) that are used.
const (
	colPassword = 1 // of all four
	colUID      = 2 // passwd
	colGID      = 3 // passwd
	colGecos    = 4 // passwd
	colHome     = 5 // passwd
	colShell    = 6 // passwd

	colChanged  = 2 // shadow: the day of the last change of the password
	colGroupGID = 2 // group
	colAdmins   = 2 // gshadow
	colMembers  = 3 // group, gshadow
)

// table is one of the files, line by line: what is not touched stays byte for
// byte.
type table struct {
	there bool
	info  host.Info
	lines []string
}

// database is the account files of a tree.
type database map[string]*table

func parseTable(content []byte) *table {
	text := strings.TrimSuffix(string(content), "\n")
	if text == "" {
		return &table{there: true}
	}
	return &table{there: true, lines: strings.Split(text, "\n")}
}

func (t *table) content() []byte {
	if len(t.lines) == 0 {
		return nil
	}
	return []byte(strings.Join(t.lines, "\n") + "\n")
}

// readDatabase reads the account files of a tree; one that is missing is empty.
func readDatabase(tree *host.Tree) (database, error) {
	db := database{}
	for _, name := range accountFiles() {
		content, info, err := tree.ReadFile("/etc/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			db[name] = &table{}
			continue
		}
		if err != nil {
			return nil, err
		}
		db[name] = parseTable(content)
		db[name].info = info
	}
	return db, nil
}

func nameOf(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

// of gives the lines of a name; only subuid and subgid have more than one.
func (t *table) of(name string) []string {
	var lines []string
	for _, line := range t.lines {
		if nameOf(line) == name {
			lines = append(lines, line)
		}
	}
	return lines
}

// fields gives the columns of a name's line, or nil.
func (t *table) fields(name string) []string {
	if lines := t.of(name); len(lines) > 0 {
		return strings.Split(lines[0], ":")
	}
	return nil
}

// column gives one column of a name's line, or "".
func (t *table) column(name string, column int) string {
	if fields := t.fields(name); column < len(fields) {
		return fields[column]
	}
	return ""
}

// set writes one column of a name's line, where both are there.
func (t *table) set(name string, column int, value string) {
	for i, line := range t.lines {
		if fields := strings.Split(line, ":"); fields[0] == name && column < len(fields) {
			fields[column] = value
			t.lines[i] = strings.Join(fields, ":")
			return
		}
	}
}

func (t *table) remove(name string) {
	t.lines = slices.DeleteFunc(t.lines, func(line string) bool { return nameOf(line) == name })
}

func (t *table) names() []string {
	names := make([]string, 0, len(t.lines))
	for _, line := range t.lines {
		names = append(names, nameOf(line))
	}
	return slices.Compact(names)
}

// insert puts lines of a name back to their place, by the order of the names
// that was once.
func (t *table) insert(name string, lines, order []string) {
	after := t.names()
	at := place(after, name, order)
	index := len(t.lines)
	if at < len(after) {
		index = slices.IndexFunc(t.lines, func(line string) bool { return nameOf(line) == after[at] })
	}
	t.lines = slices.Insert(t.lines, index, lines...)
}

// place finds where in list an item belongs that was in order: after the
// nearest of those before it that are still there.
func place(list []string, item string, order []string) int {
	for i := slices.Index(order, item) - 1; i >= 0; i-- {
		if at := slices.Index(list, order[i]); at >= 0 {
			return at + 1
		}
	}
	return 0
}

// split reads a list of names with commas.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// number reads an id; -1 is none.
func number(text string) int {
	id, err := strconv.Atoi(text)
	if err != nil || id < 0 {
		return -1
	}
	return id
}

func (db database) has(user string) bool { return db[passwdFile].fields(user) != nil }

func (db database) hasGroup(group string) bool { return db[groupFile].fields(group) != nil }

func (db database) uid(user string) int { return number(db[passwdFile].column(user, colUID)) }

func (db database) gid(user string) int { return number(db[passwdFile].column(user, colGID)) }

func (db database) home(user string) string { return db[passwdFile].column(user, colHome) }

func (db database) groupID(group string) int { return number(db[groupFile].column(group, colGroupGID)) }

// withNumber finds who has an id in a column: the name, or "".
func (t *table) withNumber(column, id int) string {
	for _, line := range t.lines {
		if fields := strings.Split(line, ":"); column < len(fields) && number(fields[column]) == id {
			return fields[0]
		}
	}
	return ""
}

// primaryOf lists the users whose primary group has an id.
func (db database) primaryOf(gid int) []string {
	var users []string
	for _, line := range db[passwdFile].lines {
		if fields := strings.Split(line, ":"); colGID < len(fields) && number(fields[colGID]) == gid {
			users = append(users, fields[0])
		}
	}
	return users
}

// groupNamed resolves a group as shadow-utils does: what is a number is one.
// The result is -1 where there is none.
func (db database) groupNamed(group string) int {
	if id := number(group); id >= 0 {
		if db[groupFile].withNumber(colGroupGID, id) == "" {
			return -1
		}
		return id
	}
	return db.groupID(group)
}

// groupsOf lists, sorted, the groups that have a user as a member.
func (db database) groupsOf(user string) []string {
	var groups []string
	for _, line := range db[groupFile].lines {
		if fields := strings.Split(line, ":"); colMembers < len(fields) && slices.Contains(split(fields[colMembers]), user) {
			groups = append(groups, fields[0])
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// hash gives the password hash of a line that may be in a shadow file.
func (db database) hash(open, shadow, name string) string {
	if db[shadow].fields(name) != nil {
		return db[shadow].column(name, colPassword)
	}
	return db[open].column(name, colPassword)
}
