package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// The kinds of this package.
const (
	Group     ledger.Kind = "group"
	User      ledger.Kind = "user"
	Home      ledger.Kind = "home"           // made of the skeleton, whole, in one rename
	Keys      ledger.Kind = "keys"           // a file of authorized keys
	KeysDir   ledger.Kind = "keys-directory" // a directory above it, in the home
	Leftovers ledger.Kind = "account-backup" // what shadow-utils leaves beside its files
)

// account is a user or group as wished, or, in the same fields, as it is: it is
// the Value of the ledger's states. What is empty is not wished. A hash is
// only known by its digest; the hash itself is in the wish's Content, which is
// never written.
type account struct {
	UID          *int     `json:"uid,omitempty"`
	GID          *int     `json:"gid,omitempty"` // of a group
	Gecos        string   `json:"gecos,omitempty"`
	Home         string   `json:"home,omitempty"`
	Shell        string   `json:"shell,omitempty"`
	PrimaryGroup string   `json:"primaryGroup,omitempty"`
	Groups       []string `json:"groups,omitempty"` // sorted
	Password     string   `json:"passwordHashSHA256,omitempty"`
	New          *making  `json:"new,omitempty"`
}

// making is what counts only while an account is made.
type making struct {
	System      bool `json:"system,omitempty"`
	NoUserGroup bool `json:"noUserGroup,omitempty"`
	NoLogInit   bool `json:"noLogInit,omitempty"`
	OwnGroup    bool `json:"ownGroup,omitempty"` // useradd makes a group of the same name
	// Half says, of an account that is there, that the program which made it was
	// ended before it had written all files.
	Half bool `json:"half,omitempty"`
}

// locked is the hash that no password has. Ignition gives it to new users; it
// is not wished for longer than that, or a second run would take away the
// password that somebody has set since.
const locked = "*"

// userWish gives the wish and the password hash; userGroups is what login.defs
// says of groups for each user.
func userWish(u types.PasswdUser, isNew, userGroups bool) (account, []byte) {
	wish := account{
		UID: u.UID, Gecos: text(u.Gecos), Home: text(u.HomeDir), Shell: text(u.Shell), PrimaryGroup: text(u.PrimaryGroup),
	}
	for _, group := range u.Groups {
		wish.Groups = append(wish.Groups, string(group))
	}
	slices.Sort(wish.Groups)
	wish.Groups = slices.Compact(wish.Groups)
	var hash []byte
	switch {
	case util.NotEmpty(u.PasswordHash):
		hash = []byte(*u.PasswordHash)
	case u.PasswordHash != nil:
		hash = []byte(locked)
	}
	wish.Password = digest(hash)
	if isNew {
		wish.New = &making{System: util.IsTrue(u.System), NoUserGroup: util.IsTrue(u.NoUserGroup), NoLogInit: util.IsTrue(u.NoLogInit)}
		wish.New.OwnGroup = userGroups && !wish.New.NoUserGroup && wish.PrimaryGroup == ""
	}
	return wish, hash
}

func groupWish(g types.PasswdGroup, isNew bool) (account, []byte) {
	wish := account{GID: g.Gid}
	hash := []byte(text(g.PasswordHash))
	wish.Password = digest(hash)
	if isNew {
		wish.New = &making{System: util.IsTrue(g.System)}
	}
	return wish, hash
}

// user tells how a user is, in the fields of a wish.
func (db database) user(name string, wish account) account {
	now := wish
	if wish.UID != nil {
		uid := db.uid(name)
		now.UID = &uid
	}
	column := func(wished string, column int) string {
		if wished == "" {
			return ""
		}
		return db[passwdFile].column(name, column)
	}
	now.Gecos = column(wish.Gecos, colGecos)
	now.Shell = column(wish.Shell, colShell)
	if now.Home = column(wish.Home, colHome); path.Clean(now.Home) == path.Clean(wish.Home) {
		now.Home = wish.Home
	}
	if gid := db.gid(name); wish.PrimaryGroup != "" && db.groupNamed(wish.PrimaryGroup) != gid {
		now.PrimaryGroup = strconv.Itoa(gid)
	}
	if len(wish.Groups) > 0 {
		now.Groups = db.groupsOf(name)
	}
	if wish.Password != "" {
		now.Password = digest([]byte(db.hash(passwdFile, shadowFile, name)))
	}
	if wish.New != nil {
		made := *wish.New
		made.Half = db.halfUser(name, made.OwnGroup)
		now.New = &made
	}
	return now
}

// halfUser: useradd renames passwd first, then shadow, then group.
func (db database) halfUser(name string, ownGroup bool) bool {
	return (db[shadowFile].there && db[shadowFile].fields(name) == nil) || (ownGroup && !db.hasGroup(name))
}

// group tells how a group is, in the fields of a wish.
func (db database) group(name string, wish account) account {
	now := wish
	if wish.GID != nil {
		gid := db.groupID(name)
		now.GID = &gid
	}
	if wish.Password != "" {
		now.Password = digest([]byte(db.hash(groupFile, gshadowFile, name)))
	}
	if wish.New != nil {
		made := *wish.New
		made.Half = db[gshadowFile].there && db[gshadowFile].fields(name) == nil
		now.New = &made
	}
	return now
}

func (a account) value() (string, error) {
	content, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("encoding account: %w", err)
	}
	return string(content), nil
}

func wishOf(c ledger.Change) (account, error) {
	var wish account
	if c.Want.Value == "" {
		return wish, nil // of one that shall not exist
	}
	if err := json.Unmarshal([]byte(c.Want.Value), &wish); err != nil {
		return wish, fmt.Errorf("reading what was wished for %s %s: %w", c.Kind, c.Target, err)
	}
	return wish, nil
}

// digest is the SHA-256 of a content, hexadecimal; that of nothing is "".
func digest(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
