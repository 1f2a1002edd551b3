// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// rpmOSTreeDeployment is a deployment in the output of rpm-ostree status --json, as far as the agent uses it
// (rpm-ostree, src/daemon/rpmostreed-deployment-utils.cxx). Their order is that in which the host would boot them.
type rpmOSTreeDeployment struct {
	Booted        bool     `json:"booted"`
	Staged        bool     `json:"staged"`
	Pinned        bool     `json:"pinned"`
	OSName        string   `json:"osname"`
	Checksum      string   `json:"checksum"`
	Serial        int      `json:"serial"`
	Version       string   `json:"version"`
	Image         string   `json:"container-image-reference"`
	Digest        string   `json:"container-image-reference-digest"`
	Packages      []string `json:"requested-packages"`
	LocalPackages []string `json:"requested-local-packages"`
	Removals      []string `json:"requested-base-removals"`
	Replacements  []string `json:"requested-base-local-replacements"`
}

func parseRPMOSTree(output []byte) (Status, error) {
	var document struct {
		Deployments []rpmOSTreeDeployment `json:"deployments"`
	}
	if err := json.Unmarshal(output, &document); err != nil {
		return Status{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	list := document.Deployments
	at := slices.IndexFunc(list, func(d rpmOSTreeDeployment) bool { return d.Booted })
	if at < 0 {
		return Status{}, ErrNoOSTree
	}
	status := Status{Booted: *list[at].deployment()}
	for i, one := range list {
		switch {
		case one.OSName != list[at].OSName || i == at:
		case one.Staged:
			status.Staged = one.deployment()
		case status.Rollback == nil:
			status.Rollback, status.RollbackQueued = one.deployment(), i < at && status.Staged == nil
		}
	}
	return status, nil
}

func (d rpmOSTreeDeployment) deployment() *Deployment {
	packages := slices.Concat(d.Packages, d.LocalPackages, d.Removals, d.Replacements)
	return &Deployment{
		Image: imageName(d.Image), Digest: d.Digest, Version: d.Version, Checksum: d.Checksum, Serial: d.Serial,
		Pinned: d.Pinned, Modified: len(packages) > 0, Packages: packages,
	}
}

// imageName returns the name of the image in a reference such as ostree-unverified-registry:quay.io/a/b@sha256:0123
// or ostree-image-signed:docker://quay.io/a/b (ostree-rs-ext, lib/src/container/mod.rs).
func imageName(reference string) string {
	if _, name, found := strings.Cut(reference, "docker://"); found {
		return name
	}
	for _, prefix := range []string{"ostree-unverified-registry:", "ostree-unverified-image:registry:"} {
		if name, found := strings.CutPrefix(reference, prefix); found {
			return name
		}
	}
	return reference
}
