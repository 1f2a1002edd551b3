// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckBootable returns the reasons why bootc and rpm-ostree would refuse to stage the image on a host with the
// architecture and the storage, or fail while they do. It reads the config of the image, and no layer.
func CheckBootable(image *Image, arch string, storage deployment.Storage) ([]report.Finding, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the config of image %s: %w", image.PullSpec, err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of image %s: %w", image.PullSpec, err)
	}
	findings := checkFormat(image.PullSpec, config, arch)
	return append(findings, checkStorage(image.PullSpec, manifest, storage)...), nil
}

// checkFormat returns the reasons why the image cannot be booted on a host of an architecture. Both programs require
// one of the labels, with any value (bootc, crates/ostree-ext/src/container/store.rs, create_prepared_import).
func checkFormat(pullSpec string, config *v1.ConfigFile, arch string) []report.Finding {
	var found []report.Finding
	if config.Architecture != arch {
		found = append(found, report.Refusalf(report.Remedyf("# use the user data of a NodePool whose spec.arch is %s", arch),
			"image %s is for architecture %s, but this host is %s", pullSpec, config.Architecture, arch))
	}
	_, isBootc := config.Config.Labels["containers.bootc"]
	_, isOSTree := config.Config.Labels["ostree.bootable"]
	if !isBootc && !isOSTree {
		found = append(found, report.Refusalf(deployment.BootableRemedy,
			"image %s contains no operating system that can boot: it has neither the label containers.bootc nor "+
				"ostree.bootable", pullSpec))
	}
	return found
}

// storedFactor is an upper estimate of the size of the files of a layer, relative to the compressed layer. bootc itself
// only requires the compressed size, and then fails in the middle of the import. Files that the host has are stored
// once, so that an update usually needs less. Both programs unpack a layer while they download it.
const storedFactor = 3

// checkStorage returns a finding for each file system without space for the image.
func checkStorage(pullSpec string, manifest *v1.Manifest, storage deployment.Storage) []report.Finding {
	var found []report.Finding
	var missing uint64
	for _, layer := range manifest.Layers {
		if !storage.Layers[layer.Digest.String()] {
			missing += uint64(layer.Size) //nolint:gosec // a size is positive
		}
	}
	if required := missing * storedFactor; required > storage.Usable() {
		found = append(found, report.Refusalf(deployment.SpaceRemedy,
			"image %s requires up to %d MB on the file system of /sysroot, which has %d MB free for it",
			pullSpec, required/1e6, storage.Usable()/1e6))
	}
	if required, available := storage.NextKernel(), storage.BootFree+storage.OtherKernels; required > available {
		found = append(found, report.Refusalf(deployment.SpaceRemedy,
			"the kernel of the image requires about %d MB on the file system of /boot, which has %d MB free for it",
			required/1e6, available/1e6))
	}
	return found
}
