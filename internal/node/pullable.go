package node

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckPull has CRI-O pull an image that already exists on the host, and returns
// a finding if that fails. CRI-O uses its mirrors, proxies and pull secret. No
// other check detects an outdated pull secret before a new pod needs it. Only
// the manifest is fetched.
func (m Host) CheckPull(ctx context.Context, image string) ([]Finding, error) {
	err := cri.Pull(ctx, m.Socket, image)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("pulling %s: %w", image, ctx.Err())
	}
	if err == nil {
		return nil, nil
	}
	why := explainPullError(image, err.Error(), m.pullSecretRegistries())
	return []Finding{{Severity: report.SeverityWarning, Text: "image " + image + " cannot be pulled: " + why.text, Remedy: why.remedy, About: "pulling images"}}, nil
}
