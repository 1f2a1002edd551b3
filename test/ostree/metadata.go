// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// imageMetadata is the part of a commit's metadata that describes its image.
type imageMetadata struct {
	digest string
	config v1.ConfigFile
}

// readMetadata reads the image's metadata of a commit
// (crates/ostree-ext/src/container/store.rs, query_image_commit).
func readMetadata(commit string) (imageMetadata, error) {
	digest, err := metadataString(commit, digestKey)
	if err != nil {
		return imageMetadata{}, err
	}
	config, err := metadataString(commit, configKey)
	if err != nil {
		return imageMetadata{}, err
	}
	m := imageMetadata{digest: digest}
	if err := json.Unmarshal([]byte(config), &m.config); err != nil {
		return m, fmt.Errorf("parsing %s of commit %s: %w", configKey, commit, err)
	}
	return m, nil
}

// metadataString returns a string of a commit's metadata, which ostree prints in GVariant text format.
func metadataString(commit, key string) (string, error) {
	text, err := command("ostree", "show", "--repo="+repository, "--print-metadata-key="+key, commit)
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(text[1 : len(text)-1]), nil
}

// version returns the label that ostree-ext uses as version (container/mod.rs, version_for_config).
func (m imageMetadata) version() string {
	for _, label := range []string{"org.opencontainers.image.version", "version"} {
		if version := m.config.Config.Labels[label]; version != "" {
			return version
		}
	}
	return ""
}

// created returns the build time (crates/lib/src/status.rs, create_imagestatus), nil if unknown.
func (m imageMetadata) created() *time.Time {
	if label, err := time.Parse(time.RFC3339, m.config.Config.Labels["org.opencontainers.image.created"]); err == nil {
		return &label
	}
	if m.config.Created.IsZero() {
		return nil
	}
	created := m.config.Created.UTC()
	return &created
}
