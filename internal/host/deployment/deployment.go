// SPDX-License-Identifier: Apache-2.0

// Package deployment reads and changes the deployments of a host in image mode: the image that runs, the image that
// boots next, and the image to which the host can be rolled back. bootc prints and changes them, on RHEL CoreOS
// rpm-ostree.
//
// Read returns the deployments. Host stages an image, which the host boots next, and rolls back to the previous one.
// CheckStageable predicts from the deployments whether an image can be staged.
package deployment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Status contains the deployments of a host.
type Status struct {
	Booted         Deployment  `json:"booted" doc:"the deployment that runs"`
	Staged         *Deployment `json:"staged,omitempty" doc:"the deployment that replaces the booted one at the next boot, if any"`
	Rollback       *Deployment `json:"rollback,omitempty" doc:"the deployment that a rollback boots, if any"`
	RollbackQueued bool        `json:"rollbackQueued,omitempty" doc:"whether the next boot is a rollback"`
	Unlocked       bool        `json:"unlocked,omitempty" doc:"whether /usr is writable until the next boot"`
	TransientEtc   bool        `json:"transientEtc,omitempty" doc:"whether changes in /etc are lost at the next boot"`
}

// Deployment is one bootable version of the operating system.
type Deployment struct {
	Image    string   `json:"image,omitempty" doc:"name of the container image; absent if the deployment is of none"`
	Digest   string   `json:"digest,omitempty" doc:"digest of the image, such as sha256:0123…"`
	Version  string   `json:"version,omitempty" doc:"version that the image names"`
	Checksum string   `json:"checksum,omitempty" doc:"OSTree commit, hexadecimal"`
	Serial   int      `json:"serial" doc:"number of the deployment among those of the same commit"`
	Pinned   bool     `json:"pinned,omitempty" doc:"whether an administrator has pinned the deployment"`
	Modified bool     `json:"modified,omitempty" doc:"whether packages were layered onto the image, or removed from it"`
	Packages []string `json:"packages,omitempty" doc:"the layered and removed packages, as far as they are known"`
}

// ID returns the name by which ostree identifies the deployment.
func (d Deployment) ID() string { return fmt.Sprintf("%s.%d", d.Checksum, d.Serial) }

// PullSpec returns the image with its digest, NAME@DIGEST, "" if the deployment is of none.
func (d Deployment) PullSpec() string {
	if d.Digest == "" || strings.Contains(d.Image, "@") {
		return d.Image
	}
	name := d.Image
	if tag := strings.LastIndexByte(name, ':'); tag > strings.LastIndexByte(name, '/') { // a colon before is of a port
		name = name[:tag]
	}
	return name + "@" + d.Digest
}

// HasDigest reports whether the deployment is of the image with the digest. If the image was requested with the digest
// of an index for several architectures, Digest is that of the manifest for this host (skopeo, cmd/skopeo/proxy.go).
func (d Deployment) HasDigest(digest string) bool {
	return digest != "" && (d.Digest == digest || strings.HasSuffix(d.Image, "@"+digest))
}

// Describe returns the deployment as that which follows the booted one. Both can be of the same image.
func (d Deployment) Describe(booted Deployment) string {
	if d.Digest != "" && d.Digest == booted.Digest {
		return "the same image with other kernel arguments or packages"
	}
	return d.String()
}

// String returns the version and the digest, or what the deployment has of both.
func (d Deployment) String() string {
	switch {
	case d.Digest == "":
		return "OSTree commit " + shorten(d.Checksum)
	case d.Version == "":
		return d.Image + " " + shorten(d.Digest)
	}
	return d.Version + ", " + shorten(d.Digest)
}

// shorten returns the beginning of a digest or a checksum, which identifies it on one host.
func shorten(digest string) string {
	const enough = len("sha256:") + 12
	return digest[:min(len(digest), enough)]
}

// Next returns the deployment that boots next if it is another one than the booted, else nil.
func (s Status) Next() *Deployment {
	switch {
	case s.RollbackQueued:
		return s.Rollback
	case s.Staged != nil:
		return s.Staged
	}
	return nil
}

// hasOverlay reports whether an overlay is mounted on a directory. ostree admin unlock mounts one on /usr, and
// ostree-prepare-root a temporary one on /etc if its configuration has etc.transient.
func hasOverlay(mounts []hostfs.Mount, directory string) bool {
	return slices.ContainsFunc(mounts, func(mount hostfs.Mount) bool {
		return mount.Point == directory && mount.Type == "overlay"
	})
}
