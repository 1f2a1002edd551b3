// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image with one static binary.
type Image struct {
	Binary string // path on this host
	Path   string // path in the image; also the entrypoint
}

// build creates the image. Equal binaries result in equal digests: the image contains no times,
// and one layer that is not compressed, so that an emulated machine need not decompress it.
func (i Image) build() (v1.Image, error) {
	program, err := os.ReadFile(i.Binary)
	if err != nil {
		return nil, fmt.Errorf("reading the program of an image: %w", err)
	}
	layer, err := tarball(i.Path, program)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", i.Binary, err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, static.NewLayer(layer, types.OCIUncompressedLayer))
	if err != nil {
		return nil, fmt.Errorf("adding the layer of %s: %w", i.Binary, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the config of %s: %w", i.Binary, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = []string{i.Path}
	config.Config.Env = []string{"PATH=" + path.Dir(i.Path)}
	return mutate.ConfigFile(image, config)
}

// tarball returns a layer with the binary, its parent directories and the mount points that
// runtimes expect.
func tarball(name string, program []byte) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	dirs := []string{"dev/", "etc/", "proc/", "sys/", "tmp/"}
	parent := ""
	for _, part := range strings.Split(strings.Trim(path.Dir(name), "/"), "/") {
		parent += part + "/"
		dirs = append(dirs, parent)
	}
	for _, dir := range dirs {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	header := &tar.Header{
		Name:     strings.TrimPrefix(name, "/"),
		Typeflag: tar.TypeReg,
		Mode:     0o755,
		Size:     int64(len(program)),
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
