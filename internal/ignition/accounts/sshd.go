package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// directive is a line of sshd_config, with the criteria of the Match block
// that it is in.
type directive struct {
	name  string // in lower case
	args  []string
	match []string // nil outside of a block
}

// maxIncludes is how deep sshd follows Include.
const maxIncludes = 16

// readSSHD reads a tree's sshd_config with all that it includes.
func readSSHD(tree *host.Tree) ([]directive, error) {
	return includeSSHD(tree, "/etc/ssh/sshd_config", nil, 0)
}

func includeSSHD(tree *host.Tree, p string, match []string, depth int) ([]directive, error) {
	content, _, err := tree.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if depth > maxIncludes {
		return nil, fmt.Errorf("reading %s: files of sshd include each other too deep", p)
	}
	var all []directive
	for _, d := range parseSSHD(string(content), match) {
		if d.name != "include" {
			all = append(all, d)
			continue
		}
		for _, pattern := range d.args {
			files, err := globSSHD(tree, pattern)
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				included, err := includeSSHD(tree, file, d.match, depth+1)
				if err != nil {
					return nil, err
				}
				all = append(all, included...)
			}
		}
	}
	return all, nil
}

// globSSHD finds the files of an Include, in sshd's order. Wildcards count in
// the last component.
func globSSHD(tree *host.Tree, pattern string) ([]string, error) {
	if !path.IsAbs(pattern) {
		pattern = path.Join("/etc/ssh", pattern)
	}
	names, err := tree.ReadDir(path.Dir(pattern))
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range names {
		if matches, err := path.Match(path.Base(pattern), name); err == nil && matches {
			files = append(files, path.Join(path.Dir(pattern), name))
		}
	}
	return files, nil
}

func parseSSHD(content string, match []string) []directive {
	var all []directive
	for line := range strings.Lines(content) {
		words := wordsSSHD(line)
		if len(words) == 0 {
			continue
		}
		d := directive{name: strings.ToLower(words[0]), args: words[1:]}
		if d.name == "match" {
			match = append([]string{}, d.args...)
			continue
		}
		d.match = match
		all = append(all, d)
	}
	return all
}

// wordsSSHD splits a line: a keyword, white space or one =, arguments that can
// be in double quotes; # begins a comment.
func wordsSSHD(line string) []string {
	var words []string
	rest := strings.TrimSpace(line)
	for rest != "" && rest[0] != '#' {
		var word string
		if rest[0] == '"' {
			quoted, after, found := strings.Cut(rest[1:], `"`)
			if !found {
				return nil
			}
			word, rest = quoted, after
		} else {
			end := strings.IndexAny(rest, " \t")
			if equals := strings.IndexByte(rest, '='); len(words) == 0 && equals > 0 && (end < 0 || equals < end) {
				end = equals
			}
			if end < 0 {
				end = len(rest)
			}
			word, rest = rest[:end], rest[end:]
		}
		rest = strings.TrimLeft(rest, " \t")
		if len(words) == 0 {
			rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
		}
		words = append(words, word)
	}
	return words
}

// setting gives the arguments of a keyword that count for a user: the first of
// the Match blocks that are about the user, else the first outside of them.
func setting(all []directive, name, user string) []string {
	var global []string
	for _, d := range all {
		switch {
		case d.name != name || len(d.args) == 0:
		case d.match == nil && global == nil:
			global = d.args
		case d.match != nil && about(d.match, user):
			return d.args
		}
	}
	return global
}

// about: criteria that depend on the connection, or on groups, are not met.
func about(match []string, user string) bool {
	if len(match) == 1 && strings.EqualFold(match[0], "all") {
		return true
	}
	return len(match) == 2 && strings.EqualFold(match[0], "user") && slices.Contains(strings.Split(match[1], ","), user)
}

// The places that Ignition knows below a home.
const (
	keysFile     = ".ssh/authorized_keys"
	keysFragment = ".ssh/authorized_keys.d/ignition"
)

// keysPattern tells in which file the keys of a user belong, so that sshd finds
// them; it is as sshd_config has it, with tokens. The fragment is Ignition's own
// place, wherever it is read; plain RHEL's sshd does not read it.
func keysPattern(all []directive, user string) (string, error) {
	patterns := setting(all, "authorizedkeysfile", user)
	if len(patterns) == 0 {
		patterns = []string{keysFile}
	}
	relative := make([]string, 0, len(patterns))
	for _, pattern := range patterns {
		relative = append(relative, strings.TrimPrefix(pattern, "%h/"))
	}
	command := setting(all, "authorizedkeyscommand", user)
	switch {
	case slices.Contains(relative, keysFragment), len(command) > 0 && path.Base(command[0]) == "ssh-key-dir":
		return keysFragment, nil
	case slices.Contains(relative, keysFile):
		return keysFile, nil
	case strings.EqualFold(relative[0], "none"):
		return "", errors.New("sshd reads keys from no file (AuthorizedKeysFile none)")
	}
	return relative[0], nil
}

// expandKeys replaces the tokens of a pattern; the result is absolute.
func expandKeys(pattern, user, home string, uid int) (string, error) {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		i++
		if i == len(pattern) {
			return "", fmt.Errorf("AuthorizedKeysFile %s ends in %%", pattern)
		}
		switch pattern[i] {
		case '%':
			out.WriteByte('%')
		case 'h':
			out.WriteString(home)
		case 'u':
			out.WriteString(user)
		case 'U':
			out.WriteString(strconv.Itoa(uid))
		default:
			return "", fmt.Errorf("AuthorizedKeysFile %s has the token %%%c, which sshd does not know there", pattern, pattern[i])
		}
	}
	if path.IsAbs(out.String()) {
		return path.Clean(out.String()), nil
	}
	return path.Join(home, out.String()), nil
}
