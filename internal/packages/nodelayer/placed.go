// SPDX-License-Identifier: Apache-2.0

package nodelayer

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
)

// PlacedPackage is a package of an OS image at its usual paths.
type PlacedPackage struct{ Name, Version string }

// PlacedPackages returns the packages that are linked at their usual paths. An interrupted upgrade
// leaves a package in two versions.
func PlacedPackages(items []ledger.Item) ([]PlacedPackage, error) {
	var placedPackages []PlacedPackage
	for _, dir := range unpackedDirectories(items) {
		list, err := readList(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // it is not complete, and nothing was put at its path
		}
		if err != nil {
			return nil, fmt.Errorf("reading unpacked software: %w", err)
		}
		packageAt := map[string]string{}
		for _, file := range list.Files {
			packageAt[file.Path] = file.Package
		}
		for _, item := range items {
			name := packageAt[item.Target]
			if item.Reason != placed || name == "" || !hostfs.IsWithin(item.Desired.Link, dir) {
				continue
			}
			if found := (PlacedPackage{name, list.Versions[name]}); !slices.Contains(placedPackages, found) {
				placedPackages = append(placedPackages, found)
			}
		}
	}
	return placedPackages, nil
}

// Obsolete returns a function that reports whether an item put a file at its usual path that the
// software in dir does not have any more. isReplaced reports whether a package of another directory
// is replaced by one in dir.
func Obsolete(items []ledger.Item, dir string, isReplaced func(name string) bool) (func(ledger.Item) bool, error) {
	list, err := readList(dir)
	if err != nil {
		return nil, fmt.Errorf("reading unpacked software: %w", err)
	}
	obsolete := map[string]bool{}
	for _, other := range unpackedDirectories(items) {
		older, err := readList(other)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading unpacked software: %w", err)
		}
		for _, file := range older.Files {
			if isReplaced(file.Package) {
				obsolete[file.Path] = true
			}
		}
	}
	for _, file := range list.Files {
		delete(obsolete, file.Path)
	}
	return func(item ledger.Item) bool { return item.Reason == placed && obsolete[item.Target] }, nil
}

// unpackedDirectories returns the directories with unpacked packages.
func unpackedDirectories(items []ledger.Item) []string {
	var dirs []string
	for _, item := range items {
		if item.Kind == Kind {
			dirs = append(dirs, item.Target)
		}
	}
	return dirs
}

// Unused returns the directories with unpacked packages of which no file is linked at its usual path, and
// that do not belong to one of the software, which can be nil.
func Unused(items []ledger.Item, used ...*packages.Software) []string {
	return slices.DeleteFunc(unpackedDirectories(items), func(dir string) bool {
		return slices.ContainsFunc(used, func(s *packages.Software) bool { return s != nil && DirectoryOf(s.Image) == dir }) ||
			slices.ContainsFunc(items, func(item ledger.Item) bool {
				return item.Reason == placed && hostfs.IsWithin(item.Desired.Link, dir)
			})
	})
}
