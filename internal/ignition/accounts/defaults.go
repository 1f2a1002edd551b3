package accounts

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// settings are lines of a name and a value, as in login.defs (white space
// between) and /etc/default/useradd (an equals sign).
type settings map[string]string

func parseSettings(content, separators string) settings {
	s := settings{}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value := line, ""
		if i := strings.IndexAny(line, separators); i >= 0 {
			name, value = line[:i], line[i+1:]
		}
		s[name] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return s
}

func readSettings(tree *host.Tree, p, separators string) (settings, error) {
	content, _, err := tree.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	return parseSettings(string(content), separators), err
}

func loginDefs(tree *host.Tree) (settings, error) {
	return readSettings(tree, "/etc/login.defs", " \t")
}

func useraddDefaults(tree *host.Tree) (settings, error) {
	return readSettings(tree, "/etc/default/useradd", "=")
}

// homeMode is the mode that useradd gives a new home.
func (s settings) homeMode() uint32 {
	if mode, err := strconv.ParseUint(s["HOME_MODE"], 8, 32); err == nil {
		return uint32(mode) & 0o7777
	}
	if mask, err := strconv.ParseUint(s["UMASK"], 8, 32); err == nil {
		return 0o777 &^ uint32(mask)
	}
	return 0o755
}

func (s settings) userGroups() bool { return strings.EqualFold(s["USERGROUPS_ENAB"], "yes") }

// mailSpool is where a user's mail is; RHEL's login.defs say the same as the
// default here.
func mailSpool(defs settings, user string) string {
	return path.Join("/", cmp.Or(defs["MAIL_DIR"], "/var/spool/mail"), user)
}
