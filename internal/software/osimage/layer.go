// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// progressInterval is the interval of messages about a download.
const progressInterval = 5 * time.Second

// DownloadLayer downloads the layer with the packages of a node into a private file, or continues an
// earlier download. It fails if the file systems of the directory and of /usr have too little space.
func (i *Image) DownloadLayer(ctx context.Context, dir, name string, log report.Log) error {
	layer, err := FindLayer(i)
	if errors.Is(err, errNoLayer) {
		return report.Fail(report.Refused, "# install the packages of the release from a repository: "+
			"/usr/share/doc/hcp-node-agent/docs/packages.md",
			"OS image %s: %w", i.PullSpec, err)
	}
	if err != nil {
		return fmt.Errorf("OS image %s: %w", i.PullSpec, err)
	}
	if err := checkSpace(layer.Size, dir, "/usr"); err != nil {
		return err
	}
	file, err := hostfs.OpenPrivate(dir, name)
	if err != nil {
		return err
	}
	began, reported := time.Now(), time.Time{}
	var first int64 = -1
	err = download(ctx, i, layer, file, func(done, total int64) {
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
				"the software of the OS image requires %d MB on the file system of %s, which has %d MB free",
				required/1e6, path, usage.Free/1e6)
		}
	}
	return nil
}

// buildCommand is part of the command that creates the layer.
const buildCommand = "build-node-image.sh"

// errNoLayer is returned for an image without a layer of packages of a node.
var errNoLayer = errors.New("the OS image has no layer with the packages of a node; " +
	"images have one from OpenShift 4.19 on")

// FindLayer returns the layer with the packages of a node: its digest, size and media type. It returns
// errNoLayer if the image has none.
func FindLayer(image v1.Image) (v1.Descriptor, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading the config of the OS image: %w", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("reading the manifest of the OS image: %w", err)
	}
	layer := 0
	for _, step := range config.History {
		switch {
		case step.EmptyLayer:
			continue
		case layer >= len(manifest.Layers):
			return v1.Descriptor{}, errors.New("the history of the OS image has more layers than its manifest")
		case strings.Contains(step.CreatedBy, buildCommand):
			return manifest.Layers[layer], nil
		}
		layer++
	}
	return v1.Descriptor{}, errNoLayer
}
