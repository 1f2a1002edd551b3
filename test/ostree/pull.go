// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source is an image in a registry.
type source struct {
	image    v1.Image
	manifest *v1.Manifest
	config   *v1.ConfigFile
	digest   string
}

// open gets the manifest and the config of an image, and refuses images that bootc and rpm-ostree refuse
// (crates/ostree-ext/src/container/store.rs, create_prepared_import; rpm-ostree uses the same code).
func open(ctx context.Context, reference string) (source, error) {
	image, err := getImage(ctx, reference)
	if err != nil {
		//nolint:staticcheck // bootc's message
		return source{}, fmt.Errorf("Creating importer: Failed to invoke skopeo proxy method OpenImage: %w", err)
	}
	s := source{image: image}
	digest, err := image.Digest()
	if err != nil {
		return source{}, err
	}
	s.digest = digest.String()
	if s.manifest, err = image.Manifest(); err != nil {
		return source{}, err
	}
	if s.config, err = image.ConfigFile(); err != nil {
		return source{}, err
	}
	labels := s.config.Config.Labels
	if labels[bootcLabel] == "" && labels["ostree.bootable"] == "" {
		//nolint:staticcheck // ostree-ext's message
		return source{}, errors.New("Target image does not have ostree.bootable label")
	}
	if s.config.Architecture != runtime.GOARCH {
		//nolint:staticcheck // ostree-ext's message
		return source{}, fmt.Errorf("Image has architecture %s; expected %s", s.config.Architecture, runtime.GOARCH)
	}
	return s, nil
}

// layerRef returns the ref of a layer that the host has (crates/ostree-ext/src/container/store.rs,
// ref_for_layer).
func layerRef(digest v1.Hash) string {
	return "ostree/container/blob/" + digest.Algorithm + "_3A_" + digest.Hex
}

// pull makes a commit from an image and returns it with the digest of the image.
func pull(ctx context.Context, reference string) (commit, digest string, err error) {
	s, err := open(ctx, reference)
	if err != nil {
		return "", "", err
	}
	layers, err := s.image.Layers()
	if err != nil {
		return "", "", err
	}
	config, err := json.Marshal(s.config)
	if err != nil {
		return "", "", err
	}
	args := []string{
		"commit", "--repo=" + repository, "--orphan", "--bootable", "--tar-autocreate-parents",
		"--timestamp=@" + strconv.FormatInt(s.config.Created.Unix(), 10),
		"--add-metadata-string=" + digestKey + "=" + s.digest,
		"--add-metadata-string=" + configKey + "=" + string(config),
	}
	var missing []v1.Layer
	required := int64(0)
	for i, descriptor := range s.manifest.Layers {
		ref := layerRef(descriptor.Digest)
		if _, err := command("ostree", "rev-parse", "--repo="+repository, ref); err == nil {
			args = append(args, "--tree=ref="+ref)
			continue
		}
		missing = append(missing, layers[i])
		required += descriptor.Size
	}
	if len(missing) == len(layers) {
		return "", "", fmt.Errorf("%s is not derived from this host's base image: not supported by this stand-in", reference)
	}
	if err := checkSpace(reference, required); err != nil {
		return "", "", err
	}
	for _, layer := range missing {
		file, err := fetchLayer(layer)
		if err != nil {
			return "", "", err
		}
		defer func() { _ = os.Remove(file) }() // leaves a file in /var/tmp at worst
		args = append(args, "--tree=tar="+file)
	}
	out, err := writableCommand("ostree", args...)
	if err != nil {
		return "", "", err
	}
	return firstWord(out), s.digest, nil
}

// checkSpace imitates crates/lib/src/deploy.rs, check_disk_space_inner; ostree reserves 3% of the disk
// (ostree.repo-config(5), min-free-space-percent).
func checkSpace(reference string, required int64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(repository, &fs); err != nil {
		return err
	}
	usable := max(int64(fs.Bavail)-int64(fs.Blocks)*3/100, 0) * fs.Bsize //nolint:gosec // sizes of a disk
	if required > usable {
		//nolint:staticcheck // bootc's message
		return fmt.Errorf("Insufficient free space for %s (available: %d bytes required: %d bytes)",
			reference, usable, required)
	}
	return nil
}
