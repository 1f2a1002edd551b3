// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const accessFile = "/etc/security/access.conf"

// isDeniedByPAM reports whether PAM of sshd denies a user who comes from an address, by access.conf(5).
func isDeniedByPAM(tree Tree, user User, from string) bool {
	for _, module := range stackOf(tree, "sshd", nil) {
		if module[0] != "pam_access.so" {
			continue
		}
		file := accessFile
		for _, argument := range module[1:] {
			if other, isFile := strings.CutPrefix(argument, "accessfile="); isFile {
				file = other
			}
		}
		if isDeniedBy(tree, file, user, from) {
			return true
		}
	}
	return false
}

// isDeniedBy reports whether a file of access.conf(5) denies a user who comes from an address.
func isDeniedBy(tree Tree, file string, user User, from string) bool {
	content, _ := tree.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		isUser := func(word string) bool {
			group := strings.TrimSuffix(strings.TrimPrefix(word, "("), ")") // a group also without parentheses
			return word == "ALL" || word == user.Name || slices.Contains(user.Groups, group)
		}
		isOrigin := func(word string) bool {
			isNetwork := strings.HasSuffix(word, ".") && strings.HasPrefix(from, word)
			return word == "ALL" || isNetwork || matchesUser("*@"+word, "", from)
		}
		if matchesList(fields[1], isUser) && matchesList(fields[2], isOrigin) {
			return strings.TrimSpace(fields[0]) == "-"
		}
	}
	return false
}

// matchesList reports whether a list of access.conf(5), of the form A B EXCEPT C, contains a match.
func matchesList(list string, matches func(word string) bool) bool {
	included, excepted, _ := strings.Cut(" "+list+" ", " EXCEPT ")
	return slices.ContainsFunc(strings.Fields(included), matches) &&
		!slices.ContainsFunc(strings.Fields(excepted), matches)
}

// checkModules refuses files of PAM that require modules or files that do not exist: the authentication then fails.
func (in Input) checkModules() []report.Finding {
	var modules []string
	for _, dir := range []string{
		"/usr/lib64/security", "/usr/lib/security",
		"/usr/lib/x86_64-linux-gnu/security", "/usr/lib/aarch64-linux-gnu/security",
	} {
		modules = append(modules, in.Before.ReadDir(dir)...)
	}
	if len(modules) == 0 {
		return nil // without PAM
	}
	var missing []string
	for _, service := range []string{"sshd", "login", "sudo", "su"} {
		before := modulesOf(in.Before, service)
		for _, name := range modulesOf(in.After, service) {
			if !slices.Contains(before, name) && !slices.Contains(modules, name) {
				missing = lists.AppendMissing(missing, name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []report.Finding{refuse(in.changedIn("/etc/pam.d"),
		"no user could authenticate on this host: files of the payload in /etc/pam.d require what is not installed: %s",
		strings.Join(missing, ", "))}
}

// modulesOf returns the modules that a service of PAM requires, and the files that it includes and that do not exist.
func modulesOf(tree Tree, service string) []string {
	return lists.Map(stackOf(tree, service, nil), func(module []string) string { return module[0] })
}

// stackOf is modulesOf with the arguments of each module. seen contains the services that include this one. Modules
// with a path are skipped.
func stackOf(tree Tree, service string, seen []string) [][]string {
	content, found := tree.ReadFile("/etc/pam.d/" + service)
	switch {
	case slices.Contains(seen, service):
		return nil
	case !found && len(seen) > 0:
		return [][]string{{"/etc/pam.d/" + service}}
	}
	var modules [][]string
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
		line, _, _ = strings.Cut(line, "#")
		if start, end := strings.Index(line, "["), strings.Index(line, "]"); start >= 0 && end > start {
			line = line[:start] + "complex" + line[end+1:]
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "@include":
			modules = append(modules, stackOf(tree, words[1], append(seen, service))...)
		case len(words) < 3 || strings.HasPrefix(words[0], "-"):
		case words[1] == "include" || words[1] == "substack":
			modules = append(modules, stackOf(tree, words[2], append(seen, service))...)
		case !strings.HasPrefix(words[2], "/"):
			modules = append(modules, words[2:])
		}
	}
	return modules
}
