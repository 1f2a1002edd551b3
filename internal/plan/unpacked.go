// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages/nodelayer"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Unpacked are the packages that a join unpacks from the OS image.
type Unpacked struct {
	Packages []string `json:"packages" doc:"packages with their versions"`
	Download int64    `json:"download" doc:"size of the layer that is downloaded, in bytes"`
}

// planUnpacking returns the packages that a join unpacks from the OS image, nil if there are none. It
// does not query the API server.
func (b *Builder) planUnpacking(ctx context.Context, p *Plan, log report.Log) (*Unpacked, error) {
	if b.Software == nil || b.otherHost != nil {
		return nil, nil //nolint:nilnil // there are none
	}
	missing, err := b.MissingBinaries(p)
	if err != nil {
		return nil, err
	}
	var decision *packages.Decision
	if b.ManagesPackages() {
		made, err := b.DecidePackages(ctx, p, kubelet.Version{})
		if err != nil {
			return nil, err
		}
		decision = &made
	}
	names, err := b.ImagePackages(decision, missing)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	image, err := b.OpenOSImage(ctx, log)
	if err != nil {
		return nil, err
	}
	layer, err := nodelayer.Find(image)
	if err != nil {
		return nil, err
	}
	return &Unpacked{Packages: b.Software.Versions(names), Download: layer.Size}, nil
}
