package ignition

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Command is a binary that the payload runs on this host.
type Command struct {
	Name   string // without a directory
	By     string // the unit or script that runs it
	InUnit bool   // whether a unit runs it: the node can depend on that unit
}

// dispatchers is where NetworkManager finds scripts to run.
const dispatchers = "/etc/NetworkManager/dispatcher.d/"

// ovsUnit runs configure-ovs.sh, which ends before its first command once br-ex
// is the agent's.
const ovsUnit = "ovs-configuration.service"

// commands lists the binaries that the units which will run on this host, and
// the dispatcher scripts of NetworkManager, call: directly or through scripts of
// the payload. Words of a script that only look like commands can be among them.
func (s *scene) commands() []Command {
	var list []Command
	add := func(text, by string, unit bool) {
		for _, name := range s.called(text, map[string]bool{}) {
			if !slices.ContainsFunc(list, func(c Command) bool { return c.Name == name && (c.InUnit || !unit) }) {
				list = append(list, Command{Name: name, By: by, InUnit: unit})
			}
		}
	}
	for _, u := range s.payload.Config.Systemd.Units {
		if _, brought := s.brought[u.Name]; !brought || s.needed[u.Name] == "" || !s.willRun(u) {
			continue
		}
		for _, command := range section(u, "Service", "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost") {
			add(strings.TrimLeft(command, "-@:+!"), u.Name, true)
		}
	}
	for _, file := range s.payload.Config.Storage.Files {
		if strings.HasPrefix(file.Path, dispatchers) {
			content, _, _ := s.payload.File(file.Path)
			add(string(content), file.Path, false)
		}
	}
	return list
}

// willRun reports whether an enabled unit can start on this host: not where it
// only comes with units that the host lacks, or waits for a file that nothing
// creates.
func (s *scene) willRun(u types.Unit) bool {
	if u.Name == ovsUnit {
		return false
	}
	for _, condition := range section(u, "Unit", "ConditionPathExists") {
		if strings.HasPrefix(condition, "/") && !s.exists(condition) {
			return false
		}
	}
	var pulling []string
	for _, value := range section(u, "Install", "WantedBy", "RequiredBy") {
		pulling = append(pulling, strings.Fields(value)...)
	}
	return len(pulling) == 0 || slices.ContainsFunc(pulling, func(name string) bool {
		return path.Ext(name) == ".target" || s.known(name)
	})
}

// exists reports whether the host or the payload has a path.
func (s *scene) exists(p string) bool {
	if _, _, found := s.payload.File(p); found && s.rule(kindFile, p, subject{}, false) == nil {
		return true
	}
	info, err := s.in.Tree.Lstat(p)
	return err == nil && info.Type != ""
}

// calls matches the places of a shell script, and of an Exec line of a unit,
// where the name of a command stands.
var calls = regexp.MustCompile("(?m)(?:^|[|;&({`\"])" +
	`[\s\\]*(?:(?:if|then|do|else|elif|while|until|exec|!|timeout\s+\S+)\s+)*((?:/[\w.-]+)+|[a-z][\w.+-]*)`)

// called lists the commands in a text, and in the scripts of the payload that it
// names.
func (s *scene) called(text string, seen map[string]bool) []string {
	var code strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			code.WriteString(line)
		}
	}
	var names []string
	for _, match := range calls.FindAllStringSubmatch(code.String(), -1) {
		if _, _, found := s.payload.File(match[1]); !found {
			names = append(names, path.Base(match[1]))
		}
	}
	for _, file := range s.payload.Config.Storage.Files {
		if fileMode(file)&0o111 != 0 && !seen[file.Path] && strings.Contains(code.String(), file.Path) {
			seen[file.Path] = true
			content, _, _ := s.payload.File(file.Path)
			names = append(names, s.called(string(content), seen)...)
		}
	}
	return names
}
