// SPDX-License-Identifier: Apache-2.0

package nodelayer

import (
	"errors"
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

// Interrupted returns the packages of which an interrupted run may have put only some files at their
// usual paths.
func Interrupted(items []ledger.Item) ([]string, error) {
	var paths, packages []string
	for _, item := range items {
		if item.Reason == placed && !item.Done {
			paths = append(paths, item.Target)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	for _, item := range items {
		if item.Kind != Kind {
			continue
		}
		owners, err := packagesAt(item.Target)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if name, found := owners[path]; found && !slices.Contains(packages, name) {
				packages = append(packages, name)
			}
		}
	}
	return packages, nil
}

// packagesAt returns the packages in a directory by the usual paths of their files. An incomplete
// directory has none: nothing was put at its path.
func packagesAt(dir string) (map[string]string, error) {
	list, err := readList(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading unpacked software: %w", err)
	}
	owners := map[string]string{}
	for _, file := range list.Files {
		owners[file.Path] = file.Package
	}
	return owners, nil
}

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
