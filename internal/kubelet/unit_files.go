// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// UnitFiles contains the files that determine how systemd starts kubelet.
type UnitFiles struct {
	Unit    string            // content of kubelet.service
	DropIns map[string]string // contents by name, from all directories, as systemd merges them
	// File reads a file as it will be when kubelet starts, such as an environment
	// file or kubelet's configuration. It can be nil if the unit refers to no file.
	File func(path string) (content []byte, found bool)
}

// ReadUnitFiles reads kubelet's unit and its drop-ins with file, from the directories of
// systemd.unit(5). list returns the names in a directory, which may not exist.
func ReadUnitFiles(file func(path string) ([]byte, bool), list func(dir string) []string) UnitFiles {
	files := UnitFiles{DropIns: map[string]string{}, File: file}
	for _, dir := range []string{ // those with precedence last
		"/usr/lib/systemd/system", "/usr/local/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system",
	} {
		unit := path.Join(dir, UnitName)
		if content, found := file(unit); found {
			files.Unit = string(content)
		}
		for _, name := range list(unit + ".d") {
			if content, found := file(path.Join(unit+".d", name)); found && strings.HasSuffix(name, ".conf") {
				files.DropIns[name] = string(content) // replaces the same name in earlier directories
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

// kubeletCommand returns the single ExecStart= that starts kubelet.
func (s unitSettings) kubeletCommand() (string, error) {
	if len(s.commands) != 1 {
		return "", fmt.Errorf("kubelet's unit has %d ExecStart= lines instead of one", len(s.commands))
	}
	for _, word := range splitWords(s.commands[0]) {
		if path.Base(strings.TrimLeft(word, "-@:+!")) == "kubelet" {
			return s.commands[0], nil
		}
	}
	return "", errors.New("ExecStart= of kubelet's unit does not start kubelet directly")
}

// configuredTaints returns the taints in kubelet's configuration, which the flag
// --register-with-taints overrides.
func (u UnitFiles) configuredTaints(command string) ([]config.Taint, error) {
	file := flagValue(splitWords(command), "--config")
	var kubelet struct {
		Taints []config.Taint `json:"registerWithTaints"`
	}
	if err := yaml.Unmarshal(u.read(file), &kubelet); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return kubelet.Taints, nil
}
