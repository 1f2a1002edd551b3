// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// copied are the directories whose files are copied to their usual paths: systemd treats a link
// as another unit, and administrators edit configuration. Other files are linked.
var copied = []string{"/etc", "/usr/lib/systemd", "/usr/lib/tmpfiles.d", "/usr/lib/sysctl.d", "/usr/lib/sysusers.d"}

// placed is the reason of changes that put software at its usual paths.
const placed = "software of the OS image"

// Place returns the changes that put the unpacked files of packages at their usual paths. dir is a
// directory that Driver has filled.
func Place(dir string, packages []string) ([]ledger.Change, error) {
	list, err := readList(dir)
	if err != nil {
		return nil, fmt.Errorf("reading unpacked software: %w", err)
	}
	var changes []ledger.Change
	for _, file := range list.Files {
		if !slices.Contains(packages, file.Package) {
			continue
		}
		change := ledger.Change{
			Kind:    ledger.Symlink,
			Target:  file.Path,
			Reason:  placed,
			Desired: ledger.State{Present: true, Link: filepath.Join(dir, file.Path)},
		}
		switch {
		case file.Link != "":
			change.Desired.Link = file.Link
		case isBelowAny(file.Path, copied):
			content, err := os.ReadFile(filepath.Join(dir, file.Path))
			if err != nil {
				return nil, fmt.Errorf("reading unpacked software: %w", err)
			}
			change.Kind, change.Desired = ledger.File, ledger.FileState(content, file.Mode&0o777)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// isBelowAny reports whether a path is one of the directories or below one.
func isBelowAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return hostfs.IsWithin(path, dir) })
}
