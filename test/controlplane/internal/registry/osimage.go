// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// OSImage is the OS image of a release from OpenShift 4.19 on: a base, a layer with the packages of a
// node, and a layer with the list of all packages.
type OSImage struct {
	Release  string // such as 4.21
	Packages []Package
}

// Package is an entry in the list of packages.
type Package struct{ Name, Epoch, Version, Release, Arch string }

// build creates the image without the contents of the packages.
func (i OSImage) build() (v1.Image, error) {
	var list [][5]string
	for _, p := range i.Packages {
		list = append(list, [5]string{p.Name, p.Epoch, p.Version, p.Release, p.Arch})
	}
	metadata, err := json.Marshal(map[string][][5]string{"rpmdb.pkglist": list})
	if err != nil {
		return nil, fmt.Errorf("encoding the list of packages: %w", err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"usr/lib/os-release", []byte("ID=\"rhel\"\nVERSION_ID=\"9.6\"\n")},
		{"usr/lib/os-release", []byte("ID=\"rhel\"\nVERSION_ID=\"9.6\"\nOPENSHIFT_VERSION=\"" + i.Release + "\"\n")},
		{"usr/share/openshift/base/meta.json", metadata},
	} {
		layer, err := fileLayer(file.name, file.content)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", file.name, err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, fmt.Errorf("adding the layer of %s: %w", file.name, err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the config of the OS image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Labels = map[string]string{
		"io.openshift.metalayer": "true",
		"ostree.linux":           "true",
		"version":                "9.6.20251028-0",
	}
	return mutate.ConfigFile(image, config)
}

// fileLayer returns a layer with one file.
func fileLayer(name string, content []byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{
		Name:     name,
		Typeflag: tar.TypeReg,
		Mode:     0o644,
		Size:     int64(len(content)),
	}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return static.NewLayer(b.Bytes(), types.OCIUncompressedLayer), nil
}
