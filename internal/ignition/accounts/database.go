// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	passwdFile  = "/etc/passwd"
	groupFile   = "/etc/group"
	gshadowFile = "/etc/gshadow"
)

// filesOf returns the files with the lines of an account. The first one decides
// whether the account exists, the second one has its password.
func filesOf(kind ledger.Kind) []string {
	if kind == Group || kind == groupAccount {
		return []string{groupFile, gshadowFile}
	}
	return []string{passwdFile, "/etc/shadow", "/etc/subuid", "/etc/subgid"}
}

// The columns of passwd(5), shadow(5), group(5) and gshadow(5) that are used.
const (
	colPassword = 1
	colID       = 2 // passwd, group
	colGID      = 3 // passwd
	colMembers  = 3 // group, gshadow
	colHome     = 5 // passwd
)

// table holds the lines of a file.
type table struct {
	info  hostfs.Info
	lines []string
}

// database holds the account files of a tree, by path.
type database map[string]table

func readDatabase(tree *hostfs.Tree) (database, error) {
	db := database{}
	for _, file := range slices.Concat(filesOf(User), filesOf(Group)) {
		var err error
		if db[file], err = readTable(tree, file); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// readTable reads a file. A missing file is an empty table.
func readTable(tree *hostfs.Tree, file string) (table, error) {
	content, info, err := tree.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return table{}, err
	}
	return table{info: info, lines: strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' })}, nil
}

// write replaces the files that differ from old, the first one of filesOf last.
// They keep their attributes.
func (db database) write(tree *hostfs.Tree, old database) error {
	batch := tree.NewBatch()
	defer batch.Abort()
	for _, file := range slices.Backward(slices.Concat(filesOf(User), filesOf(Group))) {
		if slices.Equal(db[file].lines, old[file].lines) {
			continue
		}
		var content bytes.Buffer
		for _, line := range db[file].lines {
			content.WriteString(line + "\n")
		}
		if err := batch.Stage(file, content.Bytes(), old[file].info.Attr()); err != nil {
			return err
		}
	}
	return batch.Commit()
}

func nameOf(line string) string { return columnOf(line, 0) }

func columnOf(line string, column int) string {
	if columns := strings.Split(line, ":"); column < len(columns) {
		return columns[column]
	}
	return ""
}

// of returns the lines of a name; subuid and subgid can have several.
func (t table) of(name string) []string {
	return slices.DeleteFunc(slices.Clone(t.lines), func(line string) bool { return nameOf(line) != name })
}

func (db database) has(kind ledger.Kind, name string) bool {
	return len(db[filesOf(kind)[0]].of(name)) > 0
}

// column returns a column of a name's line, or "".
func (t table) column(name string, column int) string {
	return columnOf(strings.Join(t.of(name), "\n"), column)
}

// with returns the names of the lines that have a value in a column.
func (t table) with(column int, value string) []string {
	var names []string
	for _, line := range t.lines {
		if columnOf(line, column) == value {
			names = append(names, nameOf(line))
		}
	}
	return names
}

// primaryOf returns the users whose primary group is an existing group.
func (db database) primaryOf(group string) []string {
	if !db.has(Group, group) {
		return nil
	}
	return db[passwdFile].with(colGID, db[groupFile].column(group, colID))
}

// groupName returns the name of a group. Like shadow-utils, it takes a number for
// an ID.
func (db database) groupName(group string) string {
	if names := db[groupFile].with(colID, group); len(names) > 0 {
		return names[0]
	}
	return group
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// groupsOf returns the groups that have a user as a member, sorted.
func (db database) groupsOf(user string) []string {
	var groups []string
	for _, line := range db[groupFile].lines {
		if slices.Contains(split(columnOf(line, colMembers)), user) {
			groups = append(groups, nameOf(line))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// hash returns the password hash of an account.
func (db database) hash(kind ledger.Kind, name string) string {
	files := filesOf(kind)
	if len(db[files[1]].of(name)) > 0 {
		return db[files[1]].column(name, colPassword)
	}
	return db[files[0]].column(name, colPassword)
}

// digest returns the SHA-256 of a content, hexadecimal.
func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// A Lookup returns the ID of a user or group.
type Lookup = func(name string) (id int, ok bool)

// Names returns lookups in the account files of a tree.
func Names(tree *hostfs.Tree) (users, groups Lookup, err error) {
	userIDs, groupIDs, err := IDs(tree)
	lookup := func(ids map[string]int) Lookup {
		return func(name string) (int, bool) {
			id, known := ids[name]
			return id, known
		}
	}
	return lookup(userIDs), lookup(groupIDs), err
}

// IDs returns the IDs of the users and groups in passwd(5) and group(5) of a tree, by name.
// Accounts without a valid ID are skipped.
func IDs(tree *hostfs.Tree) (users, groups map[string]int, err error) {
	read := func(file string) (map[string]int, error) {
		accounts, err := readTable(tree, file)
		ids := map[string]int{}
		for _, line := range slices.Backward(accounts.lines) { // of equal names, the first line counts
			id, err := strconv.Atoi(columnOf(line, colID))
			if delete(ids, nameOf(line)); err == nil && id >= 0 {
				ids[nameOf(line)] = id
			}
		}
		return ids, err
	}
	if users, err = read(passwdFile); err != nil {
		return nil, nil, err
	}
	groups, err = read(groupFile)
	return users, groups, err
}
