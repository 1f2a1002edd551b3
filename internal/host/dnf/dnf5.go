// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// IsDNF5 reports whether the command dnf is dnf5: distributions install it as a link to dnf5.
func IsDNF5() bool {
	target, err := filepath.EvalSymlinks(command.Find("dnf"))
	return err == nil && filepath.Base(target) == "dnf5"
}

// cacheOption returns the setting with the path of the cache of the user root.
func cacheOption() string {
	if IsDNF5() {
		return "system_cachedir"
	}
	return "cachedir"
}

// defaultCache returns the path of the cache in dnf's default configuration.
func defaultCache() string {
	if IsDNF5() {
		return "/var/cache/libdnf5"
	}
	return "/var/cache/dnf"
}

// LockFile5 is the path of the list of locks of dnf5.
const LockFile5 = "/etc/dnf/versionlock.toml"

// withoutLocks returns a command that runs dnf5 without its locks. dnf5 has no option for that: disable_excludes=*
// would also disable the excludepkgs of the administrator. Therefore dnf5 gets an empty list, in a mount namespace
// that no other process uses. Later mounts of the host appear there.
func (h Host) withoutLocks(args []string) (name string, argv []string) {
	file := filepath.Join("/", h.Root, LockFile5)
	if _, err := os.Stat(file); err != nil {
		return "dnf", args // no locks
	}
	const script = `mount --bind /dev/null "$0" && exec "$@"`
	return "unshare", append([]string{"--mount", "--propagation", "slave", "sh", "-c", script, file, "dnf"}, args...)
}

// The documents of dnf5 history list --json and dnf5 history info --json.
type transaction5 struct {
	ID       int    `json:"id"`
	Comment  string `json:"comment"`
	Packages []struct {
		NEVRA  string `json:"nevra"`
		Action string `json:"action"`
	} `json:"packages"`
}

// parseHistory5 returns the numbers of transactions, newest first.
func parseHistory5(out string) ([]string, error) {
	transactions, err := parseTransactions5(out)
	return lists.Map(transactions, func(t transaction5) string { return strconv.Itoa(t.ID) }), err
}

// parseTransaction5 parses the document with one transaction.
func parseTransaction5(id, out string) (Transaction, error) {
	t := Transaction{ID: id}
	transactions, err := parseTransactions5(out)
	for _, one := range transactions {
		t.Comment = one.Comment
		for _, altered := range one.Packages {
			t.add(altered.Action, altered.NEVRA)
		}
	}
	return t, err
}

func parseTransactions5(out string) (list []transaction5, err error) {
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("parsing the history of dnf: %w", err)
	}
	return list, nil
}
