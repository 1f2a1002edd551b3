// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

const sshdConfig = "/etc/ssh/sshd_config"

// settings are sshd's settings for one user, as "sshd -T" prints them: values by name in lower case.
type settings map[string][]string

func parseSettings(text string) settings {
	s := settings{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			name := strings.ToLower(words[0])
			s[name] = append(s[name], words[1:]...)
		}
	}
	return s
}

func (s settings) first(name string) string {
	if len(s[name]) == 0 {
		return ""
	}
	return s[name][0]
}

func (s settings) isSet(name string) bool { return strings.EqualFold(s.first(name), "yes") }

// configuration returns the files that sshd of a tree reads, by path. Their Include directives name the copies below
// dir.
func configuration(tree Tree, dir string) map[string]string {
	copies := map[string]string{}
	var add func(name string)
	add = func(name string) {
		content, found := tree.ReadFile(name)
		if _, known := copies[name]; known || !found {
			return
		}
		copies[name] = "" // for a file that includes itself
		var text strings.Builder
		for line := range strings.Lines(string(content)) {
			words := strings.Fields(strings.Replace(line, "=", " ", 1))
			if len(words) < 2 || !strings.EqualFold(words[0], "include") {
				text.WriteString(line)
				continue
			}
			text.WriteString(words[0])
			for _, pattern := range words[1:] {
				if pattern = strings.Trim(pattern, `"`); !path.IsAbs(pattern) {
					pattern = path.Join("/etc/ssh", pattern)
				}
				for _, base := range tree.ReadDir(path.Dir(pattern)) {
					if matchesName(path.Base(pattern), base) {
						add(path.Join(path.Dir(pattern), base))
					}
				}
				text.WriteString(" " + path.Join(dir, pattern))
			}
			text.WriteString("\n")
		}
		copies[name] = text.String()
	}
	add(sshdConfig)
	return copies
}

// readSettings returns sshd's settings for each of the users who come from an address.
func readSettings(ctx context.Context, tree Tree, users []User, from string) (map[string]settings, error) {
	copied, remove, err := hostfs.NewScratchTreeOf(func(dir string) map[string]string { return configuration(tree, dir) })
	if err != nil {
		return nil, err
	}
	defer remove()
	all := map[string]settings{}
	for _, user := range users {
		text, err := command.Run(ctx, "sshd", "-T", "-f", path.Join(copied.Name(), sshdConfig), "-C",
			fmt.Sprintf("user=%s,host=%s,addr=%s,laddr=%s,lport=22", user.Name, from, from, from))
		if failed := (*command.Error)(nil); errors.As(err, &failed) {
			return nil, errors.New(strings.ReplaceAll(failed.Stderr, copied.Name(), "")) // with the paths of the tree
		}
		if err != nil {
			return nil, err
		}
		all[user.Name] = parseSettings(text)
	}
	return all, nil
}

// differing returns the settings of logins that differ, as they will be.
func differing(before, after settings) []string {
	var list []string
	for _, name := range []string{
		"permitrootlogin", "pubkeyauthentication", "passwordauthentication", "kbdinteractiveauthentication",
		"challengeresponseauthentication", "authenticationmethods", "authorizedkeysfile", "allowusers", "denyusers",
		"allowgroups", "denygroups", "usepam", "pubkeyacceptedalgorithms", "pubkeyacceptedkeytypes",
		"requiredrsasize", "forcecommand", "maxsessions",
	} {
		if !slices.Equal(before[name], after[name]) {
			list = append(list, strings.TrimSpace(name+" "+strings.Join(after[name], " ")))
		}
	}
	return list
}
