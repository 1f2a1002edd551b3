// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	passwdFile  = "/etc/passwd"
	shadowFile  = "/etc/shadow"
	groupFile   = "/etc/group"
	gshadowFile = "/etc/gshadow"
	useraddFile = "/etc/default/useradd"

	loginDefsFile = "/etc/login.defs"
)

// accountFiles are the files with the accounts of a kind, and hashFiles those with the password hashes, which only
// root can read.
var (
	accountFiles = map[ledger.Kind]string{User: passwdFile, Group: groupFile}
	hashFiles    = map[ledger.Kind]string{User: shadowFile, Group: gshadowFile}
)

// The columns of passwd(5), shadow(5), group(5) and gshadow(5) that are used.
const (
	colName     = 0
	colPassword = 1
	colID       = 2 // passwd, group
	colGID      = 3 // passwd
	colMembers  = 3 // group
	colGecos    = 4 // passwd
	colHome     = 5 // passwd
	colShell    = 6 // passwd
)

// database holds the lines of the account files and of the defaults of a tree, by path. A missing file
// has no entry.
type database map[string][]string

func readDatabase(tree hostfs.Reader) (database, error) {
	db := database{}
	for _, file := range []string{passwdFile, shadowFile, groupFile, gshadowFile, useraddFile, loginDefsFile} {
		content, _, err := tree.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		db[file] = strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	}
	return db, nil
}

func column(line string, at int) string {
	if columns := strings.Split(line, ":"); at < len(columns) {
		return columns[at]
	}
	return ""
}

// get returns a column of the first line of a name, or "".
func (db database) get(file, name string, at int) string {
	i := slices.IndexFunc(db[file], func(line string) bool { return column(line, colName) == name })
	if i < 0 {
		return ""
	}
	return column(db[file][i], at)
}

func (db database) has(kind ledger.Kind, name string) bool {
	return name != "" && db.get(accountFiles[kind], name, colName) == name
}

// hash returns the password hash of an account.
func (db database) hash(kind ledger.Kind, name string) string {
	file := hashFiles[kind]
	if db.get(file, name, colName) != name {
		file = accountFiles[kind]
	}
	return db.get(file, name, colPassword)
}

// gid returns the ID of a group. Like shadow-utils, it takes a number for an ID.
func (db database) gid(group string) string {
	for _, line := range db[groupFile] {
		if column(line, colName) == group || column(line, colID) == group {
			return column(line, colID)
		}
	}
	return ""
}

// groupsOf returns the groups that have a user as a member, sorted.
func (db database) groupsOf(user string) []string {
	var groups []string
	for _, line := range db[groupFile] {
		if slices.Contains(strings.Split(column(line, colMembers), ","), user) {
			groups = append(groups, column(line, colName))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// digest returns the SHA-256 of a text, hexadecimal.
func digest(content string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
}

// IDs returns the IDs of the users and groups in passwd(5) and group(5) of a tree, by name.
// Accounts without a valid ID are skipped.
func IDs(tree hostfs.Reader) (users, groups map[string]int, err error) {
	db, err := readDatabase(tree)
	if err != nil {
		return nil, nil, err
	}
	read := func(file string) map[string]int {
		ids := map[string]int{}
		for _, line := range slices.Backward(db[file]) { // of equal names, the first line counts
			name := column(line, colName)
			id, err := strconv.Atoi(column(line, colID))
			if delete(ids, name); err == nil && id >= 0 {
				ids[name] = id
			}
		}
		return ids
	}
	return read(passwdFile), read(groupFile), nil
}
