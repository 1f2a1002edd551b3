// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// Unpacked are the packages that a join unpacks from the OS image.
type Unpacked struct {
	Packages []string `json:"packages" doc:"packages with their versions"`
	Download int64    `json:"download" doc:"size of the layer that is downloaded, in bytes"`
}

// addSoftware adds the packages that are unpacked from the OS image, and the effects of the software
// that an upgrade replaces. It does not query the API server.
func (t *target) addSoftware(
	ctx context.Context, document *Document, sw *plan.Software, p *plan.Plan, log report.Log,
) error {
	if sw.Contents == nil || t.otherHost != nil {
		return nil
	}
	decision, err := sw.Decide(ctx, p, kube.Version{})
	if err != nil {
		return err
	}
	if t.session.Run.Upgrading {
		document.Effects = document.Effects.Merge(plan.CollectEffects(nil, nil, decision.Replaced()))
	}
	if len(decision.Unpack) == 0 {
		return nil
	}
	image, err := sw.OpenOSImage(ctx, log)
	if err != nil {
		return err
	}
	layer, err := osimage.FindLayer(image)
	if err != nil {
		return err
	}
	document.Unpacked = &Unpacked{Packages: sw.Contents.Versions(decision.Unpack), Download: layer.Size}
	return nil
}
