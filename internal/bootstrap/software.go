// SPDX-License-Identifier: Apache-2.0

package bootstrap

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

// SoftwareDecision returns the outcome of each required package, as the validate step has determined it
// unless it was skipped. It fails if the host cannot be a node with them.
func (j *Flow) SoftwareDecision(ctx context.Context) (software.Decision, error) {
	if known := j.Validation.Software; known != nil {
		return *known, known.Err()
	}
	return j.decideSoftwareAgain(ctx)
}

// decideSoftwareAgain is like decideSoftware after packages were changed. Without the management of
// packages, only the validate step refuses a host.
func (j *Flow) decideSoftwareAgain(ctx context.Context) (software.Decision, error) {
	decision, err := j.Software.Decide(ctx, j.Plan, j.Validation.ServerVersion)
	if err == nil && decision.Managed {
		err = decision.Err()
	}
	return decision, err
}

// unpackSoftware unpacks the node layer of the OS image and puts packages that the host lacks at their
// usual paths. It returns the packages with their versions, or "" if there are none.
func (j *Flow) unpackSoftware(ctx context.Context, log report.Log, names []string) (string, error) {
	if _, err := j.UnpackLayer(ctx, log, names); err != nil || len(names) == 0 {
		return "", err
	}
	dir := osimage.DirectoryOf(j.Software.Contents.Image)
	if err := j.PlaceSoftware(ctx, dir, names); err != nil {
		return "", err
	}
	if err := j.removeObsoleteSoftware(ctx, log, dir, names); err != nil {
		return "", err
	}
	return strings.Join(j.Software.Contents.Versions(names), ", "), nil
}

// UnpackLayer unpacks the node layer of the OS image beside the present software, if packages are to be
// unpacked. It downloads the layer unless an earlier run has unpacked it, and removes the downloaded layer.
// It reports whether it has unpacked anything.
func (j *Flow) UnpackLayer(ctx context.Context, log report.Log, names []string) (bool, error) {
	if len(names) == 0 {
		return false, joinstate.RemoveFiles(j.Run.Dir, joinstate.LayerFile) // an interrupted run has left it
	}
	if j.Software.Contents == nil {
		return false, j.Software.Err
	}
	layer := osimage.Layer{
		Contents: *j.Software.Contents, File: filepath.Join(j.Run.Dir, joinstate.LayerFile), Scratch: j.Run.Dir,
	}
	changes := []ledger.Change{layer.Change()}
	pending, err := j.Host.Ledger.Diff(ctx, changes)
	if err != nil {
		return false, err
	}
	if len(pending) > 0 {
		image, err := j.Software.OpenOSImage(ctx, log)
		if err != nil {
			return false, err
		}
		if err := image.DownloadLayer(ctx, j.Run.Dir, joinstate.LayerFile, log); err != nil {
			return false, err
		}
		log.Wait("unpacking the node layer of the OS image", "")
	}
	j.Host.Unpacker.Layer = layer
	if _, err := j.Host.Ledger.Apply(ctx, steps.Packages, changes); err != nil {
		return false, err
	}
	return len(pending) > 0, joinstate.RemoveFiles(j.Run.Dir, joinstate.LayerFile)
}

// PlaceSoftware puts unpacked packages at their usual paths. It fails if a package of the host owns
// one of the paths.
func (j *Flow) PlaceSoftware(ctx context.Context, dir string, names []string) error {
	changes, err := osimage.Place(dir, names)
	if err != nil {
		return err
	}
	var existing []string
	for _, change := range changes {
		exists, err := j.Host.Tree.Exists(change.Target)
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
	_, err = j.Host.Ledger.Apply(ctx, steps.Packages, changes)
	return err
}

// removeObsoleteSoftware restores the paths of replaced packages that their new versions do not have.
func (j *Flow) removeObsoleteSoftware(ctx context.Context, log report.Log, dir string, names []string) error {
	if !j.Run.Upgrading {
		return nil
	}
	table, err := software.ReadTable()
	if err != nil {
		return err
	}
	isReplaced := func(old string) bool { return slices.Contains(names, j.Software.Contents.Equivalent(table, old)) }
	isObsolete, err := osimage.Obsolete(j.Host.Ledger.Items(), dir, isReplaced)
	if err != nil {
		return err
	}
	_, err = j.Host.Ledger.RevertAndWarn(ctx, log, isObsolete)
	return err
}
