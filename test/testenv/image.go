// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/ostree"
)

const (
	// imageRepository is mirrored by registries.conf of the payload, under the host name mirroredHost.
	imageRepository = "openshift-release-dev/os"
	mirroredHost    = "quay.io"
)

// VersionFile is a file of each image of [Environment.PushNodeImage], and contains its version.
const VersionFile = "/usr/share/node-image-version"

// MetadataFile is the path, without a leading slash, of the packages of an image with the label metadataLabel.
const (
	MetadataFile  = "usr/share/openshift/base/meta.json"
	metadataLabel = "io.openshift.metalayer"
)

// kubeletSysctls are in the package of OpenShift's kubelet, because kubelet does not start without them
// (openshift/kubernetes, pull request 1475). Without them, a node that runs has booted its node image.
const kubeletSysctls = `kernel.keys.root_maxbytes = 25000000
kernel.keys.root_maxkeys = 1000000
kernel.panic = 10
kernel.panic_on_oops = 1
vm.overcommit_memory = 1
vm.panic_on_oom = 0
`

// PushNodeImage pushes a node image: the image of a machine that boots from an OSTree deployment, with the sysctls of
// kubelet, a version, the file [VersionFile], and more files, by path without a leading slash. It returns the pull
// spec, NAME@DIGEST, for [Payload.SetOSImage]. The registries.conf of the payload maps NAME to the registry, which
// requires the pull secret.
func (s *Environment) PushNodeImage(version string, files map[string]string) (string, error) {
	if s.class == "" {
		return "", errors.New("the machine does not boot from a deployment")
	}
	id, err := os.ReadFile(filepath.Join(s.image, "base-id"))
	if err != nil {
		return "", fmt.Errorf("reading the id of the machine's image: %w", err)
	}
	base, err := ostree.BaseImage(string(id))
	if err != nil {
		return "", fmt.Errorf("making the machine's image: %w", err)
	}
	added := map[string]string{
		strings.TrimPrefix(VersionFile, "/"): version + "\n",
		"usr/lib/sysctl.d/50-kubelet.conf":   kubeletSysctls,
	}
	maps.Copy(added, files)
	image, err := ostree.Derive(base, version, added)
	if err != nil {
		return "", fmt.Errorf("deriving node image %s: %w", version, err)
	}
	if files[MetadataFile] != "" {
		if image, err = ostree.SetLabels(image, map[string]string{metadataLabel: "true"}); err != nil {
			return "", fmt.Errorf("labeling node image %s: %w", version, err)
		}
	}
	return PushMirroredImage(s.ControlPlane, image)
}

// PushMirroredImage pushes an image to the registry of the control plane, and returns a pull spec that registries.conf
// of the payload maps to the registry.
func PushMirroredImage(plane *bed.ControlPlane, image v1.Image) (string, error) {
	pullSpec, err := PushImage(plane, image)
	return strings.Replace(pullSpec, plane.Registry, mirroredHost, 1), err
}

// PushImage pushes an image to the registry of the control plane, and returns its pull spec for nodes.
func PushImage(plane *bed.ControlPlane, image v1.Image) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("computing the digest of the image: %w", err)
	}
	repository := imageRepository + "@" + digest.String()
	return plane.Registry + "/" + repository, PushAs(plane, repository, image)
}

// PushAs pushes an image to a repository of the registry of the control plane, NAME@DIGEST or NAME:TAG.
func PushAs(plane *bed.ControlPlane, repository string, image v1.Image) error {
	reference, err := name.ParseReference(plane.RegistryForward+"/"+repository, name.Insecure)
	if err != nil {
		return fmt.Errorf("naming the image: %w", err)
	}
	content, err := os.ReadFile(plane.PullSecret)
	if err != nil {
		return fmt.Errorf("reading the pull secret: %w", err)
	}
	var secret struct{ Auths map[string]authn.AuthConfig }
	if err := json.Unmarshal(content, &secret); err != nil {
		return fmt.Errorf("decoding the pull secret: %w", err)
	}
	login := authn.FromConfig(secret.Auths[plane.Registry])
	if err := remote.Write(reference, image, remote.WithAuth(login)); err != nil {
		return fmt.Errorf("pushing %s: %w", repository, err)
	}
	return nil
}
