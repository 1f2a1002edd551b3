package accounts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// snapshot is all that is needed to give an account back as it was. It holds
// hashes, so the ledger keeps it where it keeps the contents of files.
type snapshot struct {
	Lines map[string][]string `json:"lines,omitempty"` // the account's own, by file
	Order map[string][]string `json:"order,omitempty"` // all names of such a file
	// Lists is where a user is in the lists of others: by file, column and group,
	// the whole list.
	Lists   map[string]map[string][]string `json:"lists,omitempty"`
	Primary []string                       `json:"primary,omitempty"` // of a group: whose primary one it is
	Mail    bool                           `json:"mail,omitempty"`    // a user has a mail spool
	Owners  map[string][2]int              `json:"owners,omitempty"`  // user and group of what is in the home, where these change
}

func (db database) snapshot(name string, files ...string) snapshot {
	s := snapshot{Lines: map[string][]string{}, Order: map[string][]string{}}
	for _, file := range files {
		if lines := db[file].of(name); len(lines) > 0 {
			s.Lines[file], s.Order[file] = lines, db[file].names()
		}
	}
	return s
}

func (db database) snapshotGroup(name string) snapshot {
	s := db.snapshot(name, groupFile, gshadowFile)
	if gid := db.groupID(name); gid >= 0 {
		s.Primary = db.primaryOf(gid)
	}
	return s
}

func (db database) snapshotUser(name string) snapshot {
	s := db.snapshot(name, passwdFile, shadowFile, subuidFile, subgidFile)
	own := db.snapshot(name, groupFile, gshadowFile)
	for file, lines := range own.Lines {
		s.Lines[file], s.Order[file] = lines, own.Order[file]
	}
	s.Lists = map[string]map[string][]string{}
	for _, list := range memberLists() {
		there := map[string][]string{}
		for _, line := range db[list.file].lines {
			if group := nameOf(line); slices.Contains(list.of(db, group), name) {
				there[group] = list.of(db, group)
			}
		}
		if len(there) > 0 {
			s.Lists[list.key()] = there
		}
	}
	return s
}

// memberList is a column that lists users.
type memberList struct {
	file   string
	column int
}

func memberLists() []memberList {
	return []memberList{{groupFile, colMembers}, {gshadowFile, colMembers}, {gshadowFile, colAdmins}}
}

func (l memberList) key() string { return l.file + " " + strconv.Itoa(l.column) }

func (l memberList) of(db database, group string) []string {
	return split(db[l.file].column(group, l.column))
}

func (s snapshot) encode() ([]byte, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding account: %w", err)
	}
	return content, nil
}

func decodeSnapshot(content []byte) (snapshot, error) {
	var s snapshot
	if len(content) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(content, &s); err != nil {
		return s, fmt.Errorf("reading a kept account: %w", err)
	}
	return s, nil
}

// was tells whether the account was there.
func (s snapshot) was(file string) bool { return len(s.Lines[file]) > 0 }

// old gives a column of the account's line as it was.
func (s snapshot) old(file string, column int) (string, bool) {
	if !s.was(file) {
		return "", false
	}
	t := table{lines: s.Lines[file]}
	fields := t.fields(nameOf(s.Lines[file][0]))
	if column >= len(fields) {
		return "", false
	}
	return fields[column], true
}
