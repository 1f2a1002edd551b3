// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageOf returns an image with a layer for each command. A command that begins with # creates no
// layer.
func imageOf(t *testing.T, commands ...string) v1.Image {
	t.Helper()
	image := empty.Image
	for _, command := range commands {
		addendum := mutate.Addendum{History: v1.History{CreatedBy: command}}
		if strings.HasPrefix(command, "#") {
			addendum.History.EmptyLayer = true
		} else {
			addendum.Layer = static.NewLayer([]byte(command), types.OCIUncompressedLayer)
		}
		var err error
		if image, err = mutate.Append(image, addendum); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

func TestFind(t *testing.T) {
	const build = "/bin/sh -c /run/src/build-node-image.sh"
	for name, test := range map[string]struct {
		commands []string
		want     int // index of the layer; -1 for none
	}{
		"4.19":       {[]string{"ostree chunk", "ostree chunk 2", "# LABEL", build, "COPY meta.json", "# LABEL"}, 2},
		"5.0":        {[]string{"ostree chunk", build, "COPY buildinfo", "COPY meta.json"}, 1},
		"4.18":       {[]string{"ostree chunk", "ostree chunk 2"}, -1},
		"no history": {nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			image := imageOf(t, test.commands...)
			layer, err := FindLayer(image)
			if test.want < 0 {
				if err == nil || !strings.Contains(err.Error(), "has no layer with the packages of a node") {
					t.Errorf("FindLayer() = %v, %v", layer.Digest, err)
				}
				return
			}
			layers, _ := image.Layers()
			want, _ := layers[test.want].Digest()
			if err != nil || layer.Digest != want {
				t.Errorf("FindLayer() = %v, %v, want %s", layer.Digest, err, want)
			}
		})
	}
}
