// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// UnitName is the name of kubelet's systemd unit.
const UnitName = systemd.KubeletUnit

// UnitFiles contains the files that determine how systemd starts kubelet.
type UnitFiles struct {
	Unit    string            // content of kubelet.service
	DropIns map[string]string // contents by name, from all directories, as systemd merges them
	// ServiceDropIns contains the drop-ins for all services by name. parseSettings does not read them.
	ServiceDropIns map[string]string
	// File reads a file as it will be when kubelet starts, such as an environment
	// file or kubelet's configuration. It can be nil if the unit refers to no file.
	File func(path string) (content []byte, found bool)
}

// ReadUnitFiles reads kubelet's unit and its drop-ins with file, from the directories of
// systemd.unit(5). list returns the names in a directory, which may not exist.
func ReadUnitFiles(file func(path string) ([]byte, bool), list func(dir string) []string) UnitFiles {
	files := UnitFiles{DropIns: map[string]string{}, ServiceDropIns: map[string]string{}, File: file}
	for _, dir := range []string{ // those with precedence last
		"/usr/lib/systemd/system", "/usr/local/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system",
	} {
		main := path.Join(dir, UnitName)
		if content, found := file(main); found {
			files.Unit = string(content)
		}
		for from, to := range map[string]map[string]string{
			main + ".d": files.DropIns, path.Join(dir, "service.d"): files.ServiceDropIns,
		} {
			for _, name := range list(from) {
				if content, found := file(path.Join(from, name)); found && strings.HasSuffix(name, ".conf") {
					to[name] = string(content) // replaces the same name in earlier directories
				}
			}
		}
	}
	return files
}

// sortedDropIns returns the names of the drop-ins in the order in which systemd reads them.
func (u UnitFiles) sortedDropIns() []string { return slices.Sorted(maps.Keys(u.DropIns)) }

// read returns the content of a file. A missing file is empty.
func (u UnitFiles) read(name string) []byte {
	if u.File == nil {
		return nil
	}
	content, _ := u.File(name)
	return content
}

// CloudFlags returns the values of kubelet's flags --cloud-provider and --provider-id, ""
// for a flag that is not set.
func (u UnitFiles) CloudFlags() (provider, providerID string, err error) {
	settings, err := u.parseSettings()
	return settings.flag("--cloud-provider"), settings.flag("--provider-id"), err
}

// removedFlags contains the first version 1.N of kubelet without a flag. The payloads of 4.21 and older have it.
var removedFlags = map[string]int{"--pod-infra-container-image": 35}

// UnsupportedFlags returns the flags of the unit that kubelet 1.minor does not support, none if minor is 0.
func (u UnitFiles) UnsupportedFlags(minor int) ([]string, error) {
	settings, err := u.parseSettings()
	var unsupported []string
	for flag, removed := range removedFlags {
		if minor >= removed && settings.flag(flag) != "" {
			unsupported = append(unsupported, flag)
		}
	}
	return unsupported, err
}

// kubeletCommand returns the single ExecStart= that starts kubelet.
func (s unitSettings) kubeletCommand() (string, error) {
	if len(s.commands) != 1 {
		return "", fmt.Errorf("kubelet's unit has %d ExecStart= lines instead of one", len(s.commands))
	}
	for _, word := range systemd.SplitWords(s.commands[0]) {
		if path.Base(strings.TrimLeft(word, "-@:+!")) == "kubelet" {
			return s.commands[0], nil
		}
	}
	return "", errors.New("ExecStart= of kubelet's unit does not start kubelet directly")
}

// configuredTaints returns the taints in kubelet's configuration, which the flag
// --register-with-taints overrides.
func (u UnitFiles) configuredTaints(command string) ([]corev1.Taint, error) {
	file := flagValue(systemd.SplitWords(command), "--config")
	var kubelet struct {
		Taints []corev1.Taint `json:"registerWithTaints"`
	}
	if err := yaml.Unmarshal(u.read(file), &kubelet); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return kubelet.Taints, nil
}

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
		for _, option := range systemd.ParseOptions(content) {
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
		for _, word := range systemd.SplitWords(line) {
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
	return expandVariables(flagValue(systemd.SplitWords(s.commands[len(s.commands)-1]), name), s.environment)
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
