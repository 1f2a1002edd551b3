// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// Kind is the ledger's kind of a directory with the unpacked packages of a node.
const Kind ledger.Kind = "software"

// Directory is the parent of the directories with unpacked packages.
const Directory = "/usr/libexec/hcp-node-agent/software"

// listName is the file with the list of files in a directory.
const listName = ".files.json"

// Layer is a downloaded layer of an OS image, whose packages the driver unpacks.
type Layer struct {
	Contents software.Contents
	File     string
	Scratch  string // private directory for temporary files
}

// DirectoryOf returns the directory with the unpacked packages of an OS image. Its name contains the
// digest of the pull spec.
func DirectoryOf(pullSpec string) string {
	return filepath.Join(Directory, strings.ReplaceAll(digestOf(pullSpec), ":", "-"))
}

func digestOf(pullSpec string) string {
	_, digest, _ := strings.Cut(pullSpec, "@")
	return digest
}

// Change returns the change that unpacks the packages into DirectoryOf the image.
func (l Layer) Change() ledger.Change {
	return ledger.Change{
		Kind:    Kind,
		Target:  DirectoryOf(l.Contents.Image),
		Reason:  "OS image " + digestOf(l.Contents.Image),
		Desired: ledger.State{Present: true},
	}
}

// Driver unpacks packages of a node, and removes them.
type Driver struct {
	Labeler ledger.Labeler // sets the labels that the policy defines for the usual paths of the files
	Layer   Layer          // to be unpacked
}

// Get reports whether a directory exists. It is always complete.
func (d *Driver) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	_, err := readList(c.Target)
	if errors.Is(err, os.ErrNotExist) {
		return ledger.State{}, nil
	}
	return ledger.State{Present: true}, err
}

const kindFileList = "UnpackedSoftware"

// fileList is the content of listName.
type fileList struct {
	report.TypeMeta
	Files    []dnf.PackageFile `json:"files"`
	Versions map[string]string `json:"versions,omitempty"` // of the packages, by name
}

func readList(dir string) (fileList, error) {
	var list fileList
	content, err := os.ReadFile(filepath.Join(dir, listName))
	if err != nil {
		return list, err
	}
	if err := report.Decode(kindFileList, content, &list); err != nil {
		return list, fmt.Errorf("reading the list of files in %s: %w", dir, err)
	}
	return list, nil
}

func (l fileList) write(dir string) error {
	l.TypeMeta = report.Meta(kindFileList)
	content, err := report.Encode(l)
	if err != nil {
		return fmt.Errorf("encoding the list of files: %w", err)
	}
	return hostfs.WriteReadable(dir, listName, content)
}

// Set unpacks the packages.
func (d *Driver) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	if d.Layer.File == "" {
		return fmt.Errorf("unpacking %s: the change has no layer", c.Target)
	}
	layer, err := os.Open(d.Layer.File)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", c.Target, err)
	}
	defer layer.Close()
	return hostfs.BuildDirectory(c.Target, func(dir string) error {
		return d.fill(ctx, layer, dir)
	})
}

// fill unpacks packages into an empty directory.
func (d *Driver) fill(ctx context.Context, layer *os.File, dir string) error {
	database, err := hostfs.NewScratchDirectory(d.Layer.Scratch)
	if err != nil {
		return err
	}
	files, err := Extract(ctx, layer, d.Layer.Contents.Unpackable(), database, dir)
	if err = errors.Join(err, hostfs.RemoveSynced(database)); err != nil {
		return err
	}
	if err := checkLibraries(ctx, dir, files); err != nil {
		return err
	}
	if err := d.label(ctx, dir, files); err != nil {
		return err
	}
	return fileList{Files: files, Versions: d.Layer.Contents.Packages}.write(dir)
}

// label sets the SELinux labels of the files to those of their usual paths.
func (d *Driver) label(ctx context.Context, dir string, files []dnf.PackageFile) error {
	types := map[string]hostfs.FileType{}
	for _, file := range files {
		types[file.Path] = hostfs.Regular
		if file.Link != "" {
			types[file.Path] = hostfs.Symlink
		}
	}
	labels, err := d.Labeler.Labels(ctx, types)
	if err != nil || len(labels) == 0 {
		return err
	}
	return hostfs.SetLabels(dir, labels)
}

// CleanUp removes what interrupted runs left.
func (d *Driver) CleanUp(_ context.Context, changes []ledger.Change) error {
	remove := func(c ledger.Change) error { return hostfs.RemovePart(c.Target) }
	return errors.Join(lists.Map(changes, remove)...)
}

// Restore removes the directory, unless it existed before the join.
func (d *Driver) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	if before.Present {
		return nil
	}
	return hostfs.RemoveSynced(c.Target)
}
