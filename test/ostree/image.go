// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const bootcLabel = "containers.bootc"

// BaseImage returns the image of the machine's first deployment. id is the content of the file base-id
// beside the machine's disk. The only layer stands in for the whole operating system: it contains the id
// instead. The machine has the layer, as after an earlier pull, so that it never gets it from a registry.
func BaseImage(id string) (v1.Image, error) {
	layer, err := newLayer(map[string]string{"usr/lib/base-id": id})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: "amd64",
		OS:           "linux",
		Created:      v1.Time{Time: time.Date(2025, 8, 26, 0, 0, 0, 0, time.UTC)},
		RootFS:       v1.RootFS{Type: "layers", DiffIDs: diffIDs(layer)},
		Config: v1.Config{Labels: map[string]string{
			bootcLabel: "1", "ostree.bootable": "true", "org.opencontainers.image.version": "9.6.20250826-1",
		}},
	})
}

// Derive returns the image with a layer that adds files, by path without a leading slash, such as
// etc/motd, and with a version. The guest's layout is that of an image: etc is the default of /etc.
func Derive(base v1.Image, version string, files map[string]string) (v1.Image, error) {
	layer, err := newLayer(files)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	return SetLabels(image, map[string]string{"org.opencontainers.image.version": version})
}

// SetLabels returns the image with changed labels. An empty value removes a label.
func SetLabels(image v1.Image, labels map[string]string) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	for key, value := range labels {
		config.Config.Labels[key] = value
		if value == "" {
			delete(config.Config.Labels, key)
		}
	}
	return mutate.ConfigFile(image, config)
}

// newLayer returns a layer with the files. Files in a directory bin are executable.
func newLayer(files map[string]string) (v1.Layer, error) {
	var content bytes.Buffer
	out := tar.NewWriter(&content)
	for _, name := range sortedKeys(files) {
		mode := int64(0o644)
		if strings.HasSuffix(path.Dir(name), "bin") {
			mode = 0o755
		}
		header := &tar.Header{Name: name, Mode: mode, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(out, files[name]); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	})
}

func diffIDs(layer v1.Layer) []v1.Hash {
	id, _ := layer.DiffID() // computed from memory, cannot fail
	return []v1.Hash{id}
}

// PrintBase prints the digest of [BaseImage], the ref of its layer, and its config, each on a line.
func PrintBase(out io.Writer, id string) error {
	image, err := BaseImage(id)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n%s\n%s\n", digest, layerRef(manifest.Layers[0].Digest), config)
	return err
}
