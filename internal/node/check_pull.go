// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckPull has CRI-O pull an image that already exists on the host, and returns
// a finding if that fails. CRI-O uses its mirrors, proxies and pull secret. No
// other check detects an outdated pull secret before a new pod needs it. Only
// the manifest is fetched.
func (h Host) CheckPull(ctx context.Context, image string) ([]report.Finding, error) {
	err := cri.Pull(ctx, h.Socket, image)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("pulling %s: %w", image, ctx.Err())
	}
	if err == nil {
		return nil, nil
	}
	cause := pods.ExplainPull(image, err.Error(), h.pullSecretRegistries())
	return []report.Finding{{
		Severity: report.SeverityWarning,
		Message:  "image " + image + " cannot be pulled: " + cause.Text,
		Remedy:   cause.Remedy,
		Reason:   report.ImagePullFailed,
		Subject:  "pulling images",
	}}, nil
}
