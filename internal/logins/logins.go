// SPDX-License-Identifier: Apache-2.0

// Package logins compares who can log in to a host before and after the files of a payload are written. Payloads are
// written for RHEL CoreOS, where all logins are those of core: their settings of sshd, PAM and sudo can lock the
// administrators of another host out.
package logins

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Tree is the file tree of a host as it is, or as it will be with the files of a payload. Links are followed.
type Tree interface {
	ReadFile(p string) (content []byte, found bool)
	ReadDir(p string) []string // names, sorted; nil if there is no such directory
}

// patterns match the files on which logins depend.
var patterns = []string{
	"/etc/ssh/**", "/etc/crypto-policies/back-ends/*", "/root/.ssh/*", "/home/*/.ssh/*", "/var/roothome/.ssh/*",
	"/var/home/*/.ssh/*", "/etc/pam.d/*", "/etc/security/access*.conf", "/etc/authselect/*",
	"/etc/nsswitch.conf", "/etc/nologin", "/etc/sudoers", "/etc/sudoers.d/*", "/etc/fstab",
}

// Concerns reports whether logins depend on a file.
func Concerns(p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return config.MatchPath(pattern, p) })
}

// User is a user who can log in with a shell.
type User struct {
	Name, Home  string
	Groups      []string // the primary group first
	HasPassword bool     // that can be used
	IsRemote    bool     // of LDAP, IPA or Active Directory
}

// remoteUser returns a user that the name service finds in no file of this host, such as one of sssd, whose password is
// assumed to be known; false: the user does not exist.
func remoteUser(ctx context.Context, name string) (User, bool) {
	entry, err := command.Run(ctx, "getent", "passwd", name)
	fields := strings.Split(strings.TrimSpace(entry), ":")
	if err != nil || len(fields) < 7 {
		return User{}, false
	}
	groups, err := command.Run(ctx, "id", "-Gn", name)
	return User{
		Name: fields[0], Home: fields[5], Groups: strings.Fields(groups), HasPassword: true, IsRemote: true,
	}, err == nil
}

// Users returns the users in passwd(5), shadow(5) and group(5) of a tree who have a shell.
func Users(tree Tree) []User {
	hashes := map[string]string{}
	for _, fields := range readDatabase(tree, "/etc/shadow", 2) {
		hashes[fields[0]] = fields[1]
	}
	groups := readDatabase(tree, "/etc/group", 4)
	var users []User
	for _, fields := range readDatabase(tree, "/etc/passwd", 7) {
		switch path.Base(fields[6]) {
		case "nologin", "false", "sync", "shutdown", "halt":
			continue
		}
		user := User{Name: fields[0], Home: fields[5], HasPassword: isUsable(hashes[fields[0]])}
		for _, group := range groups {
			if group[2] == fields[3] {
				user.Groups = slices.Insert(user.Groups, 0, group[0])
			} else if slices.Contains(strings.Split(group[3], ","), user.Name) {
				user.Groups = append(user.Groups, group[0])
			}
		}
		users = append(users, user)
	}
	return users
}

// isUsable reports whether a password hash matches any password. Hashes begin with $, except DES, whose hash is 13
// characters long.
func isUsable(hash string) bool { return strings.HasPrefix(hash, "$") || len(hash) == 13 }

// readDatabase returns the lines of a database of accounts as fields. Lines with fewer fields are skipped.
func readDatabase(tree Tree, file string, fields int) [][]string {
	content, _ := tree.ReadFile(file)
	var lines [][]string
	for line := range strings.Lines(string(content)) {
		if all := strings.Split(strings.TrimSpace(line), ":"); len(all) >= fields && !strings.HasPrefix(line, "#") {
			lines = append(lines, all)
		}
	}
	return lines
}
