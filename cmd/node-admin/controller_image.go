// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// pinImage replaces the tag of the image by its digest, so that the image stays the same. It warns if the registry
// does not respond.
func (o *controllerInstallOptions) pinImage(ctx context.Context, log report.Log) {
	pinned, err := withDigest(ctx, o.image)
	switch {
	case err != nil:
		log.Warn(fmt.Sprintf("%s; every user with write access to the registry can replace the image of a tag, and the "+
			"controller has the right to become any node", err), report.Remedyf(
			"skopeo inspect --format '{{.Name}}@{{.Digest}}' docker://%s # prints the image with its digest", o.image))
	case pinned != o.image:
		log.Note(fmt.Sprintf("--image %s is %s", o.image, pinned))
		o.image = pinned
	}
}

// registryTimeout bounds the request for a digest: the registry may be reachable only from the cluster.
const registryTimeout = 15 * time.Second

// withDigest returns an image with the digest of its tag. It uses the credentials of podman and Docker.
func withDigest(ctx context.Context, image string) (string, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	if _, isPinned := reference.(name.Digest); isPinned {
		return image, nil
	}
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	found, err := remote.Get(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", fmt.Errorf("reading the digest of %s: %w", image, err)
	}
	return reference.Context().Digest(found.Digest.String()).String(), nil
}
