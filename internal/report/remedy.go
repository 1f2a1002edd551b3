// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A Remedy describes how to resolve a failure or a finding, as shell: commands that can be
// pasted unchanged, and notes, which are comments. A note is on its own line or follows its
// command:
//
//	systemctl restart kubelet # it requests a new certificate
//	# correct the config
type Remedy string

// Command returns the commands, one per line.
func (r Remedy) Command() string {
	command, _ := r.split()
	return command
}

// Note returns the notes, one per line.
func (r Remedy) Note() string {
	_, note := r.split()
	return note
}

// Inline returns the remedy for the end of a sentence: the commands, then the notes.
func (r Remedy) Inline() string {
	command, note := r.split()
	return strings.ReplaceAll(strings.Trim(command+"\n"+note, "\n"), "\n", "; ")
}

func (r Remedy) split() (command, note string) {
	var commands, notes []string
	for line := range strings.Lines(string(r)) {
		command, note := cutNote(line)
		if command != "" {
			commands = append(commands, command)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return strings.Join(commands, "\n"), strings.Join(notes, "\n")
}

// Lines returns the remedy in printed form: each command on its own line, below its note,
// which is a comment.
func (r Remedy) Lines() []string {
	var lines []string
	for line := range strings.Lines(string(r)) {
		command, note := cutNote(line)
		if note != "" {
			lines = append(lines, "# "+note)
		}
		if command != "" {
			lines = append(lines, command)
		}
	}
	return lines
}

// cutNote splits a line at the start of a shell comment: an unquoted # that begins a word.
func cutNote(line string) (command, note string) {
	line = strings.TrimSpace(line)
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
			i++
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return strings.TrimSpace(line[:i]), strings.TrimSpace(line[i+1:])
		}
	}
	return line, ""
}

// remedyParts is the JSON form of a Remedy.
type remedyParts struct {
	Command string `json:"command,omitempty" doc:"shell commands that can be pasted unchanged, one per line; absent if there are none"`
	Note    string `json:"note,omitempty" doc:"explanation of the command, or an action that is no command"`
}

// MarshalJSON returns an object with the command and the note.
func (r Remedy) MarshalJSON() ([]byte, error) {
	command, note := r.split()
	return json.Marshal(remedyParts{Command: command, Note: note})
}

// JSONType returns the type that MarshalJSON encodes, for schemas.
func (Remedy) JSONType() reflect.Type { return reflect.TypeFor[remedyParts]() }

// RebootRemedy is the remedy for a host that must be rebooted. It is a note: a command that is pasted must not reboot.
const RebootRemedy = "# drain the node if it runs pods, then reboot this host: systemctl reboot"

// Remedyf returns a remedy; format and args are those of fmt.Sprintf.
func Remedyf(format string, args ...any) Remedy { return Remedy(fmt.Sprintf(format, args...)) }

// EditCommands returns a remedy with its commands changed, of which edit gets one line each.
func (r Remedy) EditCommands(edit func(command string) string) Remedy {
	var lines []string
	for line := range strings.SplitSeq(string(r), "\n") {
		if command, note := cutNote(line); command != "" {
			line = edit(command)
			if note != "" {
				line += " # " + note
			}
		}
		lines = append(lines, line)
	}
	return Remedy(strings.Join(lines, "\n"))
}

// ChangeRemedies changes all remedies in an addressable value, and those in its slices and behind its pointers.
func ChangeRemedies(value reflect.Value, change func(Remedy) Remedy) {
	switch value.Kind() {
	case reflect.String:
		if value.Type() == reflect.TypeFor[Remedy]() && value.CanSet() {
			value.SetString(string(change(Remedy(value.String()))))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			ChangeRemedies(value.Field(i), change)
		}
	case reflect.Slice:
		for i := range value.Len() {
			ChangeRemedies(value.Index(i), change)
		}
	case reflect.Pointer, reflect.Interface:
		ChangeRemedies(value.Elem(), change)
	}
}
