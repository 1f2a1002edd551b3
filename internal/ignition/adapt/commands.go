// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// Command is a binary that the payload runs on this host.
type Command struct {
	Name   string // base name
	RunBy  string // the unit or script that runs it
	InUnit bool   // run by a unit, which the node may depend on
}

// dispatcherDir is the directory of NetworkManager's dispatcher scripts.
const dispatcherDir = "/etc/NetworkManager/dispatcher.d/"

// ovsUnit runs configure-ovs.sh, which exits before its first command if the agent made br-ex.
const ovsUnit = "ovs-configuration.service"

// commands returns the binaries that the payload runs on this host: called by units that can
// start here and by NetworkManager dispatcher scripts, directly or through scripts of the
// payload. Words of a script that only resemble commands can be included.
func (p *planner) commands() []Command {
	var list []Command
	add := func(text, by string, unit bool) {
		for _, name := range commandsIn(p.payload, text, map[string]bool{}) {
			if !slices.ContainsFunc(list, func(c Command) bool { return c.Name == name && (c.InUnit || !unit) }) {
				list = append(list, Command{Name: name, RunBy: by, InUnit: unit})
			}
		}
	}
	for _, u := range p.payload.Config.Systemd.Units {
		if _, isProvided := p.units.provided[u.Name]; !isProvided || p.units.needed[u.Name] == "" || !p.canStart(u) {
			continue
		}
		for _, command := range sectionValues(u, "Service", "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost") {
			add(strings.TrimLeft(command, "-@:+!"), u.Name, true)
		}
	}
	for _, file := range p.payload.Config.Storage.Files {
		if strings.HasPrefix(file.Path, dispatcherDir) {
			content, _, _ := p.payload.File(file.Path)
			add(string(content), file.Path, false)
		}
	}
	return list
}

// canStart reports whether an enabled unit can start on this host. A unit cannot start if only
// missing units pull it in, or if ConditionPathExists names a file that nothing creates.
func (p *planner) canStart(u types.Unit) bool {
	if u.Name == ovsUnit {
		return false
	}
	for _, condition := range sectionValues(u, "Unit", "ConditionPathExists") {
		if strings.HasPrefix(condition, "/") && !p.pathExists(condition) {
			return false
		}
	}
	pulling := strings.Fields(strings.Join(sectionValues(u, "Install", "WantedBy", "RequiredBy"), " "))
	return len(pulling) == 0 || slices.ContainsFunc(pulling, func(name string) bool {
		return path.Ext(name) == ".target" || p.units.isAvailable(name)
	})
}

// pathExists reports whether the host has, or the payload creates, a path.
func (p *planner) pathExists(name string) bool {
	if _, _, found := p.payload.File(name); found && p.findRule(kindFile, name, subject{}, false) == nil {
		return true
	}
	info, err := p.in.Tree.Lstat(name)
	return err == nil && info.Type != ""
}

// commandPattern matches the name of a command in a shell script and in an Exec line of a unit.
var commandPattern = regexp.MustCompile("(?m)(?:^|[|;&({`\"])" +
	`[\s\\]*(?:(?:if|then|do|else|elif|while|until|exec|!|timeout\s+\S+)\s+)*((?:/[\w.-]+)+|[a-z][\w.+-]*)`)

// commandsIn returns the commands in text and in the scripts of the payload that text names. seen
// holds the paths of the scripts that were searched already.
func commandsIn(payload *ignition.Payload, text string, seen map[string]bool) []string {
	var code strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			code.WriteString(line)
		}
	}
	var names []string
	for _, match := range commandPattern.FindAllStringSubmatch(code.String(), -1) {
		if _, _, found := payload.File(match[1]); !found {
			names = append(names, path.Base(match[1]))
		}
	}
	for _, file := range payload.Config.Storage.Files {
		if ignition.FileMode(file)&0o111 != 0 && !seen[file.Path] && strings.Contains(code.String(), file.Path) {
			seen[file.Path] = true
			content, _, _ := payload.File(file.Path)
			names = append(names, commandsIn(payload, string(content), seen)...)
		}
	}
	return names
}
