// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// unitDirectories are systemd's directories of unit files, those with precedence last.
func unitDirectories() []string {
	return []string{"/usr/lib/systemd/system", "/run/systemd/system", "/etc/systemd/system"}
}

// HostNodeName returns the node name with which kubelet would start on a host that has
// kubelet's unit, or "" without the unit. The name may be one that a join would refuse.
func HostNodeName(tree *hostfs.Tree, hostname string) (string, error) {
	sources := NameSources{Hostname: hostname, File: func(name string) ([]byte, bool) {
		content, _, err := tree.ReadFile(name)
		return content, err == nil
	}}
	dropins := map[string]string{} // by name; a drop-in replaces that of a directory before
	for _, directory := range unitDirectories() {
		unit := path.Join(directory, UnitName)
		if content, found := sources.File(unit); found {
			sources.Unit = string(content)
		}
		names, _ := tree.ReadDir(unit + ".d") // a missing directory contains no drop-ins
		for _, name := range names {
			if content, found := sources.File(path.Join(unit+".d", name)); found && strings.HasSuffix(name, ".conf") {
				dropins[name] = string(content)
			}
		}
	}
	if sources.Unit == "" {
		return "", nil
	}
	for _, name := range slices.Sorted(maps.Keys(dropins)) {
		sources.DropIns = append(sources.DropIns, dropins[name])
	}
	name, _, err := unvalidatedName(sources)
	return strings.ToLower(strings.TrimSpace(name)), err
}
