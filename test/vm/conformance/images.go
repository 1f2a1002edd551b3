// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// searchPath is the PATH of each image.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// image describes an image of the tests.
type image struct {
	layers          []string // names of files that build.sh writes, without their suffix
	entrypoint, cmd []string
	ends            []string // a command that ends at once, unless that of the image does
}

// images are the images of the tests, by name. agnhost and nonewprivs are built from Kubernetes' sources, pause is
// that of the control plane, and the other programs are Debian's.
var images = map[string]image{
	"agnhost": {
		layers: []string{"tools", "agnhost"}, entrypoint: []string{"/agnhost"}, cmd: []string{"pause"},
		ends: []string{"true"},
	},
	"busybox":    {layers: []string{"busybox"}, cmd: []string{"sh"}, ends: []string{"true"}},
	"pause":      {layers: []string{"pause"}, entrypoint: []string{"/pause"}},
	"nonewprivs": {layers: []string{"nonewprivs"}, cmd: []string{"nnp"}},
}

// build creates the image from layers in a directory. Like those of package registry of the control plane, they are
// not compressed, so that an emulated machine need not decompress them.
func (i image) build(directory string) (v1.Image, error) {
	built := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range i.layers {
		content, err := os.ReadFile(filepath.Join(directory, layer+".tar"))
		if err != nil {
			return nil, fmt.Errorf("reading a layer: %w", err)
		}
		if built, err = mutate.AppendLayers(built, static.NewLayer(content, types.OCIUncompressedLayer)); err != nil {
			return nil, fmt.Errorf("adding layer %s: %w", layer, err)
		}
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the config of an image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint, config.Config.Cmd, config.Config.Env = i.entrypoint, i.cmd, []string{searchPath}
	return mutate.ConfigFile(built, config)
}

// pushImages pushes the images among those that the tests use, whose pull specs are HOST/NAME:TAG, to the registry of
// the control plane. It returns their pull specs by name.
func pushImages(plane *bed.ControlPlane, directory string, used []string) (map[string]string, error) {
	pushed := map[string]string{}
	for _, pullSpec := range used {
		repository, found := strings.CutPrefix(pullSpec, plane.Registry+"/")
		name, _, _ := strings.Cut(path.Base(repository), ":")
		image, exists := images[name]
		if !found || !exists {
			continue
		}
		built, err := image.build(directory)
		if err != nil {
			return nil, fmt.Errorf("building image %s: %w", name, err)
		}
		if err := testenv.PushAs(plane, repository, built); err != nil {
			return nil, err
		}
		pushed[name] = pullSpec
	}
	for name := range images {
		if pushed[name] == "" {
			return nil, fmt.Errorf("the tests do not use image %s: %q", name, used)
		}
	}
	return pushed, nil
}
