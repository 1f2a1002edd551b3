// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// ChangedEntries returns the names of the entries that only one of two payloads has, or that differ:
// paths, units, users and groups, and settings of the MachineConfig. The names are sorted. The file
// with the MachineConfig itself is not compared, because it repeats the other entries.
func ChangedEntries(a, b *Payload) []string {
	before, after := a.entries(), b.entries()
	changed := maps.Clone(before)
	maps.Copy(changed, after)
	maps.DeleteFunc(changed, func(name string, _ any) bool {
		return name == MachineConfigPath || equality.Semantic.DeepEqual(before[name], after[name])
	})
	return slices.Sorted(maps.Keys(changed))
}

// entries returns the entries of the payload by name.
func (p *Payload) entries() map[string]any {
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
	return entries
}

// WithoutFile returns the payload without one file, which the agent keeps once the file is not
// needed any more.
func WithoutFile(raw []byte, path string) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("reading the payload: %w", err)
	}
	storage, _ := document["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	if len(files) == 0 {
		return raw, nil
	}
	storage["files"] = slices.DeleteFunc(files, func(file any) bool {
		entry, _ := file.(map[string]any)
		return entry["path"] == path
	})
	content, err := json.Marshal(document)
	return content, wrap.Errorf(err, "encoding the payload")
}
