// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
)

// backend contains the commands that read and change the deployments of a host. A host has one backend: the metadata
// that bootc and rpm-ostree store with a deployment differ.
type backend struct {
	status   []string
	parse    func(output []byte) (Status, error)
	stage    []string // the reference of the image follows
	scheme   string   // prefix of the reference
	rollback []string
}

var (
	bootc = backend{
		status:   []string{"bootc", "status", "--format=json", "--format-version=1"},
		parse:    parseBootc,
		stage:    []string{"bootc", "switch"},
		rollback: []string{"bootc", "rollback"},
	}
	// The machine-config-daemon uses the same commands (machine-config-operator, pkg/daemon/rpm-ostree.go).
	rpmOSTree = backend{
		status:   []string{"rpm-ostree", "status", "--json"},
		parse:    parseRPMOSTree,
		stage:    []string{"rpm-ostree", "rebase", "--experimental"},
		scheme:   "ostree-unverified-registry:",
		rollback: []string{"rpm-ostree", "rollback"},
	}
)

// backendOf returns the backend of hosts of a class in image mode.
func backendOf(class hostclass.Class) backend {
	if class.Capabilities().HasBootc && command.Exists("bootc") {
		return bootc
	}
	return rpmOSTree
}

// Read returns the deployments of this host, nil in package mode. It requires root.
func Read(ctx context.Context, class hostclass.Class) (*Status, error) {
	if !class.Capabilities().HasImage {
		return nil, nil //nolint:nilnil // a host in package mode has no deployments
	}
	return backendOf(class).read(ctx)
}

func (b backend) read(ctx context.Context) (*Status, error) {
	out, err := command.Run(ctx, b.status[0], b.status[1:]...)
	if err != nil {
		return nil, fmt.Errorf("reading the deployments of this host: %w", err)
	}
	status, err := b.parse([]byte(out))
	if err != nil {
		return nil, fmt.Errorf("reading the output of %s: %w", b.status[0], err)
	}
	mounts, err := hostfs.ReadMounts()
	if err != nil {
		return nil, err
	}
	status.Unlocked, status.TransientEtc = hasOverlay(mounts, "/usr"), hasOverlay(mounts, "/etc")
	return &status, nil
}

// SkopeoVersion returns the version of skopeo, with which both programs pull images, "" if it cannot be read.
func SkopeoVersion(ctx context.Context) string {
	out, err := command.Run(ctx, "skopeo", "--version")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(out), "skopeo version ")
}
