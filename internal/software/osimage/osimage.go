// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

const (
	metadataLabel = "io.openshift.metalayer" // "true": the last layer contains metadataPath
	metadataPath  = "usr/share/openshift/base/meta.json"
	versionLabel  = "version"

	// A metadata layer has about 30 kB.
	maxMetadata = 8 << 20
)

// Read returns the release of an OS image, and from OpenShift 4.19 on its packages. It reads the
// config of the image, and at most its last layer.
func Read(pullSpec string, image v1.Image) (*software.Contents, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the config of OS image %s: %w", pullSpec, err)
	}
	labels := config.Config.Labels
	if labels[metadataLabel] == "true" {
		return readMetadata(pullSpec, config.Architecture, image)
	}
	release, rhel, err := parseVersion(labels[versionLabel])
	if err != nil {
		return nil, fmt.Errorf("OS image %s: %w", pullSpec, err)
	}
	return &software.Contents{Image: pullSpec, Release: release, RHEL: rhel, Arch: config.Architecture}, nil
}

var coreOSVersion = regexp.MustCompile(`^(\d)(\d+)\.(\d)(\d+)\.\d{12}`)

// parseVersion parses the version of an image before OpenShift 4.19: 418.94.202501221327-0 is
// OpenShift 4.18 on RHEL 9.4.
func parseVersion(version string) (release software.Release, rhel string, err error) {
	match := coreOSVersion.FindStringSubmatch(version)
	if match == nil {
		return software.Release{}, "", fmt.Errorf(
			"the version label %q is not that of RHEL CoreOS, and the label %s is missing", version, metadataLabel)
	}
	release, err = software.ParseRelease(match[1] + "." + match[2])
	return release, match[3] + "." + match[4], err
}

// readMetadata reads the packages of an image from its last layer.
func readMetadata(pullSpec, arch string, image v1.Image) (*software.Contents, error) {
	content, err := readMetadataFile(image)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata layer of OS image %s: %w", pullSpec, err)
	}
	versions, err := parsePackageList(content)
	if err != nil {
		return nil, fmt.Errorf("parsing %s of OS image %s: %w", metadataPath, pullSpec, err)
	}
	release, err := software.ParseRelease(versions["openshift-kubelet"])
	if err != nil {
		return nil, fmt.Errorf("OS image %s contains no openshift-kubelet of a release: %w", pullSpec, err)
	}
	table, err := software.ReadTable()
	if err != nil {
		return nil, err
	}
	return &software.Contents{
		Image:    pullSpec,
		Release:  release,
		RHEL:     rhelRelease(versions),
		Arch:     arch,
		Packages: table.OnlyNodePackages(versions),
	}, nil
}

// readMetadataFile returns the content of the metadata file. It reads the complete layer, because
// its digest is verified at its end.
func readMetadataFile(image v1.Image) ([]byte, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		return nil, errors.New("the image has no layers")
	}
	layer, err := layers[len(layers)-1].Uncompressed()
	if err != nil {
		return nil, err
	}
	defer layer.Close()
	limited := &io.LimitedReader{R: layer, N: maxMetadata}
	content, err := findFile(limited, metadataPath)
	switch {
	case limited.N == 0:
		return nil, fmt.Errorf("the layer is larger than %d bytes", maxMetadata)
	case err == nil && content == nil:
		return nil, fmt.Errorf("the layer does not contain %s", metadataPath)
	}
	return content, err
}

// findFile returns the content of a file in a tar archive, or nil. It reads the archive to its end.
func findFile(r io.Reader, name string) (content []byte, err error) {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r)
			return content, err
		}
		if err != nil {
			return nil, err
		}
		if path.Clean(header.Name) != name {
			continue
		}
		if content, err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

// parsePackageList returns VERSION-RELEASE of each package in the list.
func parsePackageList(content []byte) (map[string]string, error) {
	var list struct {
		Packages [][5]string `json:"rpmdb.pkglist"` // name, epoch, version, release, architecture
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, p := range list.Packages {
		versions[p[0]] = p[2] + "-" + p[3]
	}
	return versions, nil
}

var releaseVersion = regexp.MustCompile(`^\d+\.\d+`)

// rhelRelease returns the RHEL release of an image, or "" if its package has another name.
func rhelRelease(versions map[string]string) string {
	for _, name := range []string{"redhat-release", "centos-stream-release"} {
		if release := releaseVersion.FindString(versions[name]); release != "" {
			return release
		}
	}
	return ""
}
