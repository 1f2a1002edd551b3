// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Placed returns the packages at their usual paths. An interrupted upgrade leaves a package in two versions,
// and of an incomplete package an interrupted run may have put only some files at their paths.
func Placed(items []ledger.Item) ([]software.Unpacked, error) {
	directories, err := readLists(items)
	if err != nil {
		return nil, err
	}
	var all []software.Unpacked
	for dir, list := range directories {
		packageAt := map[string]string{}
		for _, file := range list.Files {
			packageAt[file.Path] = file.Package
		}
		for _, item := range items {
			name := packageAt[item.Target]
			if item.Reason != placed || name == "" || (item.Done && !hostfs.IsWithin(item.Desired.Link, dir)) {
				continue
			}
			found := software.Unpacked{Name: name, Version: list.Versions[name], Incomplete: !item.Done}
			all = lists.AppendMissing(all, found)
		}
	}
	slices.SortFunc(all, func(a, b software.Unpacked) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Obsolete returns a function that reports whether an item put a file at its usual path that the
// software in dir does not have any more. isReplaced reports whether a package of another directory
// is replaced by one in dir.
func Obsolete(items []ledger.Item, dir string, isReplaced func(name string) bool) (func(ledger.Item) bool, error) {
	current, err := readList(dir)
	if err != nil {
		return nil, fmt.Errorf("reading unpacked software: %w", err)
	}
	directories, err := readLists(items)
	if err != nil {
		return nil, err
	}
	obsolete := map[string]bool{}
	for _, list := range directories {
		for _, file := range list.Files {
			if isReplaced(file.Package) {
				obsolete[file.Path] = true
			}
		}
	}
	for _, file := range current.Files {
		delete(obsolete, file.Path)
	}
	return func(item ledger.Item) bool { return item.Reason == placed && obsolete[item.Target] }, nil
}

// readLists returns the lists of files by directory. Nothing was put at its path from a directory without
// a list, which is incomplete.
func readLists(items []ledger.Item) (map[string]fileList, error) {
	directories := map[string]fileList{}
	for _, dir := range unpackedDirectories(items) {
		list, err := readList(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading unpacked software: %w", err)
		}
		directories[dir] = list
	}
	return directories, nil
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
// that do not belong to an image of the contents, which can be nil.
func Unused(items []ledger.Item, used ...*software.Contents) []string {
	return slices.DeleteFunc(unpackedDirectories(items), func(dir string) bool {
		isOfImage := func(c *software.Contents) bool { return c != nil && DirectoryOf(c.Image) == dir }
		return slices.ContainsFunc(used, isOfImage) ||
			slices.ContainsFunc(items, func(item ledger.Item) bool {
				return item.Reason == placed && hostfs.IsWithin(item.Desired.Link, dir)
			})
	})
}
