// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// Push pushes a new OS image with kubelet and CRI-O, which are in source, in its node layer. It returns the
// pull spec, which refers to a registry that the registries.conf of the payload mirrors.
func Push(t *testing.T, plane *bed.ControlPlane, source string, versions map[string]string) string {
	t.Helper()
	return push(t, plane, versions, []layer{
		{t.TempDir(), "ostree chunk"},
		{installNodePackages(t, source, versions), "/bin/sh -c /run/src/build-node-image.sh"},
	})
}

// PushUnbootable pushes an image that names its release, but contains no operating system that can boot.
func PushUnbootable(t *testing.T, plane *bed.ControlPlane, versions map[string]string) string {
	t.Helper()
	return push(t, plane, versions, nil)
}

// layer is a layer of an image.
type layer struct{ root, command string }

// push pushes an image of layers and of one with the metadata.
func push(t *testing.T, plane *bed.ControlPlane, versions map[string]string, layers []layer) string {
	t.Helper()
	metadata := layer{t.TempDir(), "COPY --from=metadata /usr/share/openshift /usr/share/openshift"}
	file := filepath.Join(metadata.root, testenv.MetadataFile)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755)) //nolint:gosec // as in an image
	must(t, os.WriteFile(file, []byte(Metadata(t, versions)), 0o600))

	var err error
	image := empty.Image
	for _, one := range append(layers, metadata) {
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   static.NewLayer(packLayer(t, one.root), types.DockerLayer),
			History: v1.History{CreatedBy: one.command},
		})
		must(t, err)
	}
	config, err := image.ConfigFile()
	must(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Labels = map[string]string{"io.openshift.metalayer": "true", "version": "9.6.20251028-0"}
	image, err = mutate.ConfigFile(image, config)
	must(t, err)
	pullSpec, err := testenv.PushMirroredImage(plane, image)
	must(t, err)
	return pullSpec
}

// Metadata returns the content of the metadata file of an image with packages of these versions.
func Metadata(t *testing.T, versions map[string]string) string {
	t.Helper()
	metadata, err := json.Marshal(map[string][][5]string{"rpmdb.pkglist": {
		packageEntry("cri-o", versions),
		packageEntry("openshift-kubelet", versions),
		{"redhat-release", "0", "9.6", "0.1.el9", "x86_64"},
	}})
	must(t, err)
	return string(metadata)
}

// packageEntry returns the entry of a package in the metadata of an OS image.
func packageEntry(pkg string, versions map[string]string) [5]string {
	version, release, _ := strings.Cut(versions[pkg], "-")
	return [5]string{pkg, "0", version, release, "x86_64"}
}

// installNodePackages returns a root directory in which rpm has installed packages of the node files.
func installNodePackages(t *testing.T, source string, versions map[string]string) string {
	t.Helper()
	env := rpms.New(t)
	BuildPackages(env, source, versions, "release")
	found, err := filepath.Glob(filepath.Join(env.Dir, "release/*/*.rpm"))
	must(t, err)
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755)) //nolint:gosec // as in an image
	env.Run("rpm", append([]string{"--root", root, "--dbpath", "/usr/share/rpm", "--nodeps", "--install"}, found...)...)
	return root
}

// packLayer returns a directory as the layer of an image.
func packLayer(t *testing.T, root string) []byte {
	t.Helper()
	archive, err := exec.Command("tar", "-I", "gzip -1", "-C", root, "-c", "--sort=name", ".").Output()
	must(t, err)
	return archive
}

// PushImage pushes an image to the registry of the control plane, and returns its pull spec.
func PushImage(t *testing.T, plane *bed.ControlPlane, image v1.Image) string {
	t.Helper()
	pullSpec, err := testenv.PushImage(plane, image)
	must(t, err)
	return pullSpec
}
