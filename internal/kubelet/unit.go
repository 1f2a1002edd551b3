// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// unitSettings contains the settings of kubelet's unit that determine its name
// and command.
type unitSettings struct {
	environment map[string]string
	setByFiles  map[string]bool // variables set by files, which override Environment=
	commands    []string        // ExecStart=, as written
}

// parseSettings reads the unit and its drop-ins as systemd does: a drop-in adds to a
// setting, an empty value resets it, and files override Environment=
// (systemd.exec(5)). A missing environment file is ignored, with or without the "-":
// some are created by units that run before kubelet, and none of them sets the node
// name.
func (u UnitFiles) parseSettings() (unitSettings, error) {
	contents := []string{u.Unit}
	for _, name := range u.sortedDropIns() {
		contents = append(contents, u.DropIns[name])
	}
	var inline, files, commands []string
	for _, content := range contents {
		options, err := unit.DeserializeOptions(strings.NewReader(content))
		if err != nil {
			return unitSettings{}, report.Fail(report.Usage, "", "reading kubelet's unit: %w", err)
		}
		for _, option := range options {
			if option.Section != "Service" {
				continue
			}
			switch option.Name {
			case "Environment":
				inline = addOrReset(inline, option.Value)
			case "EnvironmentFile":
				files = addOrReset(files, option.Value)
			case "ExecStart":
				commands = addOrReset(commands, option.Value)
			}
		}
	}
	settings := unitSettings{environment: map[string]string{}, setByFiles: map[string]bool{}, commands: commands}
	for _, line := range inline {
		for _, word := range splitWords(line) {
			if name, value, found := strings.Cut(word, "="); found {
				settings.environment[name] = value
			}
		}
	}
	for _, file := range files {
		name := strings.TrimPrefix(file, "-")
		if strings.ContainsAny(name, "*?[") {
			return unitSettings{}, report.Fail(report.Usage, "# list each file in kubelet's unit instead of a pattern",
				"reading kubelet's unit: EnvironmentFile=%s is a pattern, which is not supported", file)
		}
		for variable, value := range hostinfo.ParseEnv(u.read(name)) {
			settings.environment[variable], settings.setByFiles[variable] = value, true
		}
	}
	return settings, nil
}

func addOrReset(list []string, value string) []string {
	if value == "" {
		return nil
	}
	return append(list, value)
}

// flag returns the value of a flag of kubelet, "" for a flag that is not set.
func (s unitSettings) flag(name string) string {
	if len(s.commands) == 0 {
		return ""
	}
	return expandVariables(flagValue(splitWords(s.commands[len(s.commands)-1]), name), s.environment)
}

// flagValue returns the last value of a flag, "" for a flag that is not set.
func flagValue(arguments []string, flag string) string {
	values := append([]string{""}, flagValues(arguments, flag)...)
	return values[len(values)-1]
}

// flagValues returns all values of a flag, given as --flag=value or --flag value.
func flagValues(arguments []string, flag string) []string {
	var values []string
	for i, argument := range arguments {
		if value, found := strings.CutPrefix(argument, flag+"="); found {
			values = append(values, value)
		} else if argument == flag && i+1 < len(arguments) {
			values = append(values, arguments[i+1])
		}
	}
	return values
}

// expandVariables replaces ${NAME} and $NAME. Variables that are not set are empty.
func expandVariables(text string, environment map[string]string) string {
	return os.Expand(text, func(name string) string { return environment[name] })
}

// splitWords splits a line as systemd does: at whitespace outside quotes; a
// backslash escapes the next character.
func splitWords(line string) []string {
	line = strings.ReplaceAll(line, "\\\n", " ") // a continued line
	var all []string
	var word strings.Builder
	var quote rune
	var escaped, inWord bool
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			if inWord {
				all = append(all, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if inWord {
		all = append(all, word.String())
	}
	return all
}

// UnitName is the name of kubelet's systemd unit.
const UnitName = systemd.KubeletUnit
