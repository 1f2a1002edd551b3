// SPDX-License-Identifier: Apache-2.0

// Package registry reads the digest of the controller's image from its registry.
package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Check returns a usage error for an --image that is not a reference to an image.
func Check(image string) error {
	if image == "" {
		return nil
	}
	if _, err := name.ParseReference(image); err != nil {
		return report.UsageError("--image: %w", err)
	}
	return nil
}

// Pin returns an image with the digest in place of its tag, so that the image stays the same. If the registry does not
// respond, it logs a warning and returns image.
func Pin(ctx context.Context, image string, log report.Log) string {
	pinned, err := withDigest(ctx, image)
	switch {
	case err != nil:
		log.Warn(fmt.Sprintf("%s; every user with write access to the registry can replace the image of a tag, and the "+
			"controller has the right to become any node", err), report.Remedyf(
			"skopeo inspect --format '{{.Name}}@{{.Digest}}' docker://%s # prints the image with its digest", image))
		return image
	case pinned != image:
		log.Note(fmt.Sprintf("--image %s is %s", image, pinned))
	}
	return pinned
}

// timeout bounds the request for a digest: the registry may be reachable only from the cluster.
const timeout = 15 * time.Second

// withDigest returns an image with the digest of its tag. It uses the credentials of podman and Docker.
func withDigest(ctx context.Context, image string) (string, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	if _, isPinned := reference.(name.Digest); isPinned {
		return image, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := remote.Get(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", fmt.Errorf("reading the digest of %s: %w", image, err)
	}
	return reference.Context().Digest(found.Digest.String()).String(), nil
}
