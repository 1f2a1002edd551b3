// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Unpack unpacks the node layer of the OS image and puts packages that the host lacks at their
// usual paths. It returns the packages with their versions, or "" if there are none.
func (p Packages) Unpack(ctx context.Context, log report.Log, names []string) (string, error) {
	if _, err := p.UnpackLayer(ctx, log, names); err != nil || len(names) == 0 {
		return "", err
	}
	dir := osimage.DirectoryOf(p.Software.Contents.Image)
	if err := p.Place(ctx, dir, names); err != nil {
		return "", err
	}
	if err := p.removeObsolete(ctx, log, dir, names); err != nil {
		return "", err
	}
	return strings.Join(p.Software.Contents.Versions(names), ", "), nil
}

// UnpackLayer unpacks the node layer of the OS image beside the present software, if packages are to be
// unpacked. It downloads the layer unless an earlier run has unpacked it, and removes the downloaded layer.
// It reports whether it has unpacked anything.
func (p Packages) UnpackLayer(ctx context.Context, log report.Log, names []string) (bool, error) {
	if len(names) == 0 {
		return false, joinstate.RemoveFiles(p.Run.Dir, joinstate.LayerFile) // an interrupted run has left it
	}
	if p.Software.Contents == nil {
		return false, p.Software.Err
	}
	layer := osimage.Layer{
		Contents: *p.Software.Contents, File: filepath.Join(p.Run.Dir, joinstate.LayerFile), Scratch: p.Run.Dir,
	}
	changes := []ledger.Change{layer.Change()}
	pending, err := p.Host.Ledger.Diff(ctx, changes)
	if err != nil {
		return false, err
	}
	if len(pending) > 0 {
		image, err := p.Software.OpenOSImage(ctx, log)
		if err != nil {
			return false, err
		}
		if err := image.DownloadLayer(ctx, p.Run.Dir, joinstate.LayerFile, log); err != nil {
			return false, err
		}
		log.Wait("unpacking the node layer of the OS image", "")
	}
	p.Host.Unpacker.Layer = layer
	if _, err := p.Host.Ledger.Apply(ctx, steps.Packages, changes); err != nil {
		return false, err
	}
	return len(pending) > 0, joinstate.RemoveFiles(p.Run.Dir, joinstate.LayerFile)
}

// Place puts unpacked packages at their usual paths. It fails if a package of the host owns
// one of the paths.
func (p Packages) Place(ctx context.Context, dir string, names []string) error {
	changes, err := osimage.Place(dir, names)
	if err != nil {
		return err
	}
	var existing []string
	for _, change := range changes {
		exists, err := p.Host.Tree.Exists(change.Target)
		if err != nil {
			return err
		}
		if exists {
			existing = append(existing, change.Target)
		}
	}
	if len(existing) > 0 && dnf.IsAvailable() {
		owners, err := dnf.Owners(ctx, existing)
		if err != nil {
			return err
		}
		for _, path := range slices.Sorted(maps.Keys(owners)) {
			return report.Fail(report.Refused, report.Remedyf(
				"dnf remove %s # or set the source of the software: hcp-node-agent join --software rpm", owners[path]),
				"%s belongs to package %s of this host, and would be replaced by the OS image", path, owners[path])
		}
	}
	_, err = p.Host.Ledger.Apply(ctx, steps.Packages, changes)
	return err
}

// removeObsolete restores the paths of replaced packages that their new versions do not have.
func (p Packages) removeObsolete(ctx context.Context, log report.Log, dir string, names []string) error {
	if !p.Run.Upgrading {
		return nil
	}
	table, err := software.ReadTable()
	if err != nil {
		return err
	}
	isReplaced := func(old string) bool { return slices.Contains(names, p.Software.Contents.Equivalent(table, old)) }
	isObsolete, err := osimage.Obsolete(p.Host.Ledger.Items(), dir, isReplaced)
	if err != nil {
		return err
	}
	_, err = p.Host.Ledger.RevertAndWarn(ctx, log, isObsolete)
	return err
}
