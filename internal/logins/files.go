// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Units returns the units without which no user can log in over the network.
func Units() []string {
	return []string{
		"sshd.service", "sshd.socket", "ssh.service", "ssh.socket", "NetworkManager.service", "systemd-logind.service",
		"dbus.socket", "dbus-broker.service", "dbus-daemon.service",
	}
}

func (in Input) checkUnits() []report.Finding {
	var findings []report.Finding
	for _, entry := range in.Changed {
		if slices.Contains(Units(), entry) {
			findings = append(findings, refuse([]string{entry},
				"the payload disables or masks %s, which runs on this host: no user could log in with SSH after the next boot",
				entry))
		}
	}
	return findings
}

// checkFiles returns findings about files with which the host could not authenticate its users, or not boot.
func (in Input) checkFiles() []report.Finding {
	return slices.Concat(in.checkModules(), in.checkNameService(), in.checkMounts())
}

// checkNameService refuses a configuration without the local accounts.
func (in Input) checkNameService() []report.Finding {
	const file = "/etc/nsswitch.conf"
	var findings []report.Finding
	for _, source := range []string{"files", "sss", "winbind", "ldap"} {
		after := databasesOf(in.After, file, source)
		lost := slices.DeleteFunc(databasesOf(in.Before, file, source), func(name string) bool {
			return slices.Contains(after, name)
		})
		switch {
		case len(lost) == 0:
		case source == "files":
			findings = append(findings, refuse([]string{file},
				"%s of the payload does not read the accounts of this host (files) for %s: no user could log in", file,
				strings.Join(lost, ", ")))
		default:
			findings = append(findings, warn(exclusion([]string{file}), "%s of the payload does not read %s from %s: their "+
				"users could not log in", file, strings.Join(lost, ", "), source))
		}
	}
	return findings
}

// databasesOf returns the databases of accounts that nsswitch.conf(5) reads from a source. compat reads files, and so
// does a database without a line. An action such as [NOTFOUND=return] ends the search before later sources.
func databasesOf(tree Tree, file, source string) []string {
	content, _ := tree.ReadFile(file)
	lines := map[string]string{"passwd": "files", "shadow": "files", "group": "files"}
	for line := range strings.Lines(string(content)) {
		line, _, _ = strings.Cut(line, "#")
		name, sources, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); lines[name] != "" {
			lines[name] = sources
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		sources := strings.Fields(lines[name])
		isLast := func(s string) bool {
			s = strings.ToUpper(s)
			return strings.Contains(s, "NOTFOUND=RETURN") || strings.Contains(s, "!UNAVAIL=RETURN")
		}
		if end := slices.IndexFunc(sources, isLast); end >= 0 {
			sources = sources[:end]
		}
		if slices.Contains(sources, source) || source == "files" && slices.Contains(sources, "compat") {
			names = append(names, name)
		}
	}
	return names
}

// checkMounts refuses an /etc/fstab that no longer mounts what this host has, or with which the boot ends in
// emergency mode.
func (in Input) checkMounts() []report.Finding {
	const file = "/etc/fstab"
	before, after := mounts(in.Before, file), mounts(in.After, file)
	var findings []report.Finding
	for _, mount := range before {
		isSame := func(other []string) bool { return other[1] == mount[1] }
		if !slices.ContainsFunc(after, isSame) {
			findings = append(findings, refuse([]string{file},
				"%s of the payload does not mount %s of this host", file, mount[1]))
		}
	}
	for _, mount := range after {
		isSame := func(other []string) bool { return other[0] == mount[0] && other[1] == mount[1] }
		if device := deviceOf(mount); device != "" && !slices.ContainsFunc(before, isSame) && !in.Exists(device) {
			findings = append(findings, refuse([]string{file}, "%s of the payload requires %s, which does not exist: the next "+
				"boot would end in emergency mode", file, mount[0]))
		}
	}
	return findings
}

// mounts returns the lines of fstab(5) with a mount point as fields.
func mounts(tree Tree, file string) [][]string {
	content, _ := tree.ReadFile(file)
	var lines [][]string
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) >= 4 && fields[0][0] != '#' && path.IsAbs(fields[1]) {
			fields[1] = path.Clean(fields[1])
			lines = append(lines, fields)
		}
	}
	return lines
}

// deviceOf returns the device that the boot awaits for a line of fstab(5), "" for none.
func deviceOf(mount []string) string {
	for option := range strings.SplitSeq(mount[3], ",") {
		if slices.Contains([]string{"nofail", "noauto", "bind", "_netdev", "x-systemd.automount"}, option) {
			return ""
		}
	}
	return hostinfo.DeviceOf(mount[0])
}

// checkSudoers refuses files of sudo with syntax errors, which sudo refuses to run with, or ignores.
func (in Input) checkSudoers(ctx context.Context) []report.Finding {
	var findings []report.Finding
	for _, file := range slices.Concat(in.changedIn("/etc/sudoers.d"), in.changedIn("/etc/sudoers")) {
		content, found := in.After.ReadFile(file)
		if !found {
			continue
		}
		_, err := command.RunInput(ctx, content, "visudo", "--check", "--file=-")
		if failed := (*command.Error)(nil); errors.As(err, &failed) {
			findings = append(findings, refuse([]string{file}, "sudo cannot read %s of the payload: %s", file, err))
		}
	}
	return findings
}

// checkSudo warns about users and groups whose last rule of sudo is gone, and about those without a password of whom
// sudo requires one.
func (in Input) checkSudo() []report.Finding {
	files := slices.Concat(in.changedIn("/etc/sudoers"), in.changedIn("/etc/sudoers.d"))
	after := sudoers(in.After, "")
	isGone := func(name string) bool { return !slices.Contains(after, name) }
	var findings []report.Finding
	if lost := slices.DeleteFunc(sudoers(in.Before, ""), func(name string) bool { return !isGone(name) }); len(lost) > 0 {
		findings = append(findings, warn(exclusion(files), "the payload removes the rules of sudo for: %s",
			strings.Join(lost, ", ")))
	}
	free, users := sudoers(in.After, "NOPASSWD:"), Users(in.Before)
	unmet := slices.DeleteFunc(sudoers(in.Before, "NOPASSWD:"), func(name string) bool {
		return isGone(name) || slices.Contains(free, name) || !slices.ContainsFunc(users, func(u User) bool {
			return !u.HasPassword && (u.Name == name || slices.Contains(u.Groups, strings.TrimPrefix(name, "%")))
		})
	})
	if len(unmet) > 0 {
		findings = append(findings, warn(exclusion(files), "with the rules of the payload, sudo requires a password of "+
			"users who have none: %s", strings.Join(unmet, ", ")))
	}
	return findings
}

var includesDirectory = regexp.MustCompile(`(?m)^[#@]includedir\s+"?/etc/sudoers\.d`)

// sudoers returns the users and %groups that have rules with a tag in sudoers(5), in their order. All rules have the
// tag "".
func sudoers(tree Tree, tag string) []string {
	files := []string{"/etc/sudoers"}
	main, _ := tree.ReadFile(files[0])
	for _, name := range tree.ReadDir("/etc/sudoers.d") {
		if includesDirectory.Match(main) && !strings.Contains(name, ".") && !strings.HasSuffix(name, "~") {
			files = append(files, "/etc/sudoers.d/"+name)
		}
	}
	var names []string
	for _, file := range files {
		content, _ := tree.ReadFile(file)
		for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
			words := strings.Fields(line)
			isRule := len(words) > 1 && strings.Contains(line, "=") && !strings.ContainsAny(words[0][:1], "#@") &&
				!strings.HasPrefix(words[0], "Defaults") && !strings.HasSuffix(words[0], "_Alias")
			if isRule && strings.Contains(line, tag) {
				names = lists.AppendMissing(names, words[0])
			}
		}
	}
	return names
}

// changedIn returns the changed files in a directory, or the changed file of that name.
func (in Input) changedIn(p string) []string {
	var files []string
	for _, file := range in.Changed {
		if file == p || strings.HasPrefix(file, p+"/") {
			files = append(files, file)
		}
	}
	return files
}
