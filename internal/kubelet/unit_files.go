// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// DropIn is a drop-in of kubelet's unit.
type DropIn struct{ Name, Content string }

// UnitFiles contains the files that determine how systemd starts kubelet.
type UnitFiles struct {
	Unit    string   // content of kubelet.service
	DropIns []DropIn // from all directories, as systemd merges them; in any order
	// File reads a file as it will be when kubelet starts, such as an environment
	// file or kubelet's configuration.
	File func(path string) (content []byte, found bool)
}

// dropInsAfter returns the drop-ins that systemd reads after the drop-in name.
func (u UnitFiles) dropInsAfter(name string) []DropIn {
	return u.sortedDropIns(func(d DropIn) bool { return d.Name > name })
}

func (u UnitFiles) sortedDropIns(want func(DropIn) bool) []DropIn {
	var some []DropIn
	for _, dropin := range u.DropIns {
		if want(dropin) {
			some = append(some, dropin)
		}
	}
	slices.SortFunc(some, func(a, b DropIn) int { return strings.Compare(a.Name, b.Name) })
	return some
}

// parseSettings parses the unit and its drop-ins.
func (u UnitFiles) parseSettings() (unitSettings, error) {
	sources := NameSources{Unit: u.Unit, File: u.File}
	for _, dropin := range u.sortedDropIns(func(DropIn) bool { return true }) {
		sources.DropIns = append(sources.DropIns, dropin.Content)
	}
	return parseUnit(sources)
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
	if file == "" || u.File == nil {
		return nil, nil
	}
	content, found := u.File(file)
	if !found {
		return nil, nil
	}
	var kubelet struct {
		Taints []config.Taint `json:"registerWithTaints"`
	}
	if err := yaml.Unmarshal(content, &kubelet); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return kubelet.Taints, nil
}
