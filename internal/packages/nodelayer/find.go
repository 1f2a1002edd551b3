// SPDX-License-Identifier: Apache-2.0

package nodelayer

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// buildCommand is part of the command that creates the layer.
const buildCommand = "build-node-image.sh"

// ErrNoLayer is returned for an image without a layer of packages of a node.
var ErrNoLayer = errors.New("the OS image has no layer with the packages of a node; images have one from OpenShift 4.19 on")

// Find returns the layer with the packages of a node: its digest, size and media type. It returns ErrNoLayer if the
// image has none.
func Find(image v1.Image) (v1.Descriptor, error) {
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
	return v1.Descriptor{}, ErrNoLayer
}
