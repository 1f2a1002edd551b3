// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages/nodelayer"
	"github.com/hcp-node-agent/hcp-node-agent/internal/registry"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// progressInterval is the interval of messages about a download.
const progressInterval = 5 * time.Second

// unpackSoftware unpacks the node layer of the OS image and puts the packages that the host lacks at
// their usual paths. It returns the packages with their versions, or "" if there are none.
func (j *Flow) unpackSoftware(ctx context.Context, log report.Log) (string, error) {
	if _, err := j.UnpackLayer(ctx, log); err != nil {
		return "", err
	}
	names := j.Validation.FromImage
	if len(names) == 0 {
		return "", nil
	}
	dir := nodelayer.DirectoryOf(j.Software.Image)
	if err := j.PlaceSoftware(ctx, dir, names); err != nil {
		return "", err
	}
	if err := j.removeObsoleteSoftware(ctx, log, dir, names); err != nil {
		return "", err
	}
	return strings.Join(j.Software.Versions(names), ", "), j.afterUnpacking(ctx, log)
}

// UnpackLayer unpacks the node layer of the OS image beside the present software, if the host lacks
// packages that it contains. It downloads the layer unless an earlier run has unpacked it, and removes the
// downloaded layer. It reports whether it has unpacked anything.
func (j *Flow) UnpackLayer(ctx context.Context, log report.Log) (bool, error) {
	if len(j.Validation.FromImage) == 0 {
		return false, joinstate.RemoveFiles(j.Dir, joinstate.LayerFile) // an interrupted run has left it
	}
	if j.Software == nil {
		return false, j.SoftwareErr
	}
	changes := []ledger.Change{nodelayer.NewChange(j.Software.Image, nodelayer.Unpacking{
		Layer:    filepath.Join(j.Dir, joinstate.LayerFile),
		Packages: j.Software.Unpackable(),
		Versions: j.Software.Packages,
		Scratch:  j.Dir,
	})}
	pending, err := j.Ledger.Diff(ctx, changes)
	if err != nil {
		return false, err
	}
	if len(pending) > 0 {
		image, err := j.OpenOSImage(ctx, log)
		if err != nil {
			return false, err
		}
		if err := j.downloadLayer(ctx, image, log); err != nil {
			return false, err
		}
		log.Wait("unpacking the node layer of the OS image", "")
	}
	if _, err := j.Ledger.Apply(ctx, steps.Packages, changes); err != nil {
		return false, err
	}
	return len(pending) > 0, joinstate.RemoveFiles(j.Dir, joinstate.LayerFile)
}

// PlaceSoftware puts unpacked packages at their usual paths. It fails if a package of the host owns
// one of the paths.
func (j *Flow) PlaceSoftware(ctx context.Context, dir string, names []string) error {
	changes, err := nodelayer.Place(dir, names)
	if err != nil {
		return err
	}
	var existing []string
	for _, change := range changes {
		exists, err := j.Tree.Exists(change.Target)
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
			return report.Fail(report.Refused, report.Remedyf("dnf remove %s # or set the source of the software: hcp-node-agent join --software rpm", owners[path]),
				"%s belongs to package %s of this host, and would be replaced by the OS image", path, owners[path])
		}
	}
	_, err = j.Ledger.Apply(ctx, steps.Packages, changes)
	return err
}

// downloadLayer downloads the node layer of an image.
func (j *Flow) downloadLayer(ctx context.Context, image *registry.Image, log report.Log) error {
	layer, err := nodelayer.Find(image)
	if errors.Is(err, nodelayer.ErrNoLayer) {
		return report.Fail(report.Refused, "# install the packages of the release from a repository: docs/packages.md", "OS image %s: %w", image.PullSpec, err)
	}
	if err != nil {
		return fmt.Errorf("OS image %s: %w", image.PullSpec, err)
	}
	if err := checkSpace(layer.Size, j.Dir, "/usr"); err != nil {
		return err
	}
	file, err := hostfs.OpenPrivate(j.Dir, joinstate.LayerFile)
	if err != nil {
		return err
	}
	began, reported := time.Now(), time.Time{}
	var first int64 = -1
	err = nodelayer.Download(ctx, image, layer, file, func(done, total int64) {
		if first < 0 {
			first = done
		}
		if now := time.Now(); now.Sub(reported) >= progressInterval {
			rate := float64(done-first) / now.Sub(began).Seconds()
			log.Wait(fmt.Sprintf("downloading the node layer of the OS image: %d of %d MB, %.0f kB/s",
				done/1e6, total/1e6, rate/1e3), "")
			reported = now
		}
	})
	return errors.Join(err, file.Close())
}

// unpackedFactor is the maximum size of a layer and its unpacked files, relative to the layer.
const unpackedFactor = 6

// checkSpace fails if a file system has too little space for a layer and its unpacked files.
func checkSpace(layerSize int64, paths ...string) error {
	required := uint64(layerSize) * unpackedFactor //nolint:gosec // a size is positive
	for _, path := range paths {
		usage, err := hostinfo.FileSystemUsage(path)
		if err != nil {
			return err
		}
		if usage.Free < required {
			return report.Fail(report.Refused, report.Remedyf("df -h %s # free some space", path),
				"the software of the OS image requires %d MB on the file system of %s, which has %d MB free", required/1e6, path, usage.Free/1e6)
		}
	}
	return nil
}

// afterUnpacking reloads systemd, so that it finds the new units, and plans the join again.
func (j *Flow) afterUnpacking(ctx context.Context, log report.Log) error {
	if j.Systemd != nil {
		if err := j.Systemd.Reload(ctx); err != nil {
			return err
		}
	}
	return j.rebuildPlan(ctx, log)
}
