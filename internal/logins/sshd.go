// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

const (
	sshdDirectory = "/etc/ssh"
	sshdConfig    = sshdDirectory + "/sshd_config"
)

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

func (s settings) is(name, value string) bool { return strings.EqualFold(s.first(name), value) }

// configuration is the configuration of sshd of a tree, in a temporary directory.
type configuration struct{ dir string }

// copyConfiguration copies the files that sshd of a tree reads, with the Include directives changed so that they name
// the copies.
func copyConfiguration(tree Tree) (configuration, error) {
	dir, err := os.MkdirTemp("", "hcp-node-agent-sshd-")
	if err != nil {
		return configuration{}, fmt.Errorf("copying the configuration of sshd: %w", err)
	}
	c := configuration{dir: dir}
	if err := c.copyFile(tree, sshdConfig, 0); err != nil {
		c.remove()
		return c, fmt.Errorf("copying the configuration of sshd: %w", err)
	}
	return c, nil
}

func (c configuration) remove() { os.RemoveAll(c.dir) }

// copyFile copies a file and those that it includes. sshd refuses more than 16 levels.
func (c configuration) copyFile(tree Tree, name string, depth int) error {
	content, found := tree.ReadFile(name)
	if !found || depth > 16 {
		return nil
	}
	var copied strings.Builder
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(strings.Replace(line, "=", " ", 1))
		if len(words) < 2 || !strings.EqualFold(words[0], "include") {
			copied.WriteString(line)
			continue
		}
		copied.WriteString(words[0])
		for _, pattern := range words[1:] {
			if pattern = strings.Trim(pattern, `"`); !path.IsAbs(pattern) {
				pattern = path.Join(sshdDirectory, pattern)
			}
			for _, base := range tree.ReadDir(path.Dir(pattern)) {
				if matchesName(path.Base(pattern), base) {
					if err := c.copyFile(tree, path.Join(path.Dir(pattern), base), depth+1); err != nil {
						return err
					}
				}
			}
			fmt.Fprintf(&copied, " %s", filepath.Join(c.dir, pattern))
		}
		copied.WriteString("\n")
	}
	target := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(copied.String()), 0o600)
}

// readSettings returns sshd's settings for each of the users who come from an address.
func readSettings(ctx context.Context, tree Tree, users []User, from string) (map[string]settings, error) {
	c, err := copyConfiguration(tree)
	if err != nil {
		return nil, err
	}
	defer c.remove()
	all := map[string]settings{}
	for _, user := range users {
		text, err := command.Run(ctx, "sshd", "-T", "-f", filepath.Join(c.dir, sshdConfig), "-C",
			fmt.Sprintf("user=%s,host=%s,addr=%s,laddr=%s,lport=22", user.Name, from, from, from))
		if failed := (*command.Error)(nil); errors.As(err, &failed) {
			return nil, errors.New(strings.ReplaceAll(failed.Stderr, c.dir, "")) // with the paths of the tree
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
		"allowgroups", "denygroups", "usepam",
	} {
		if !slices.Equal(before[name], after[name]) {
			list = append(list, strings.TrimSpace(name+" "+strings.Join(after[name], " ")))
		}
	}
	return list
}
