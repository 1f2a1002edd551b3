// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// ChangedEntries returns the names of the entries that only one of two payloads has, or that differ:
// paths, units, users and groups, and settings of the MachineConfig. The names are sorted. The file
// with the MachineConfig itself is not compared, because it repeats the other entries.
func ChangedEntries(a, b *Payload) ([]string, error) {
	before, err := a.entries()
	if err != nil {
		return nil, err
	}
	after, err := b.entries()
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for name, content := range before {
		if other, exists := after[name]; !exists || !bytes.Equal(content, other) {
			changed[name] = true
		}
	}
	for name := range after {
		if _, exists := before[name]; !exists {
			changed[name] = true
		}
	}
	delete(changed, MachineConfigPath)
	return slices.Sorted(maps.Keys(changed)), nil
}

// entries returns the encoded entries of the payload by name.
func (p *Payload) entries() (map[string][]byte, error) {
	entries := map[string]any{
		"OS image":         p.machine.OSImageURL,
		"kernel arguments": p.machine.KernelArguments,
	}
	for _, file := range p.Config.Storage.Files {
		content, mode, _ := p.File(file.Path)
		entries[file.Path] = []any{content, mode, file.User, file.Group}
	}
	for _, directory := range p.Config.Storage.Directories {
		entries[directory.Path] = directory
	}
	for _, link := range p.Config.Storage.Links {
		entries[link.Path] = link
	}
	for _, unit := range p.Config.Systemd.Units {
		entries[unit.Name] = unit
	}
	for _, user := range p.Config.Passwd.Users {
		entries["user "+user.Name] = user
	}
	for _, group := range p.Config.Passwd.Groups {
		entries["group "+group.Name] = group
	}
	encoded := map[string][]byte{}
	for name, entry := range entries {
		content, err := json.Marshal(entry)
		if err != nil {
			return nil, fmt.Errorf("encoding %s of the payload: %w", name, err)
		}
		encoded[name] = content
	}
	return encoded, nil
}
