package kubelet

import (
	"context"
	"fmt"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckPull has CRI-O pull an image that already exists on the host, and returns
// a finding if that fails. CRI-O uses its mirrors, proxies and pull secret. No
// other check detects an outdated pull secret before a new pod needs it. Only
// the manifest is fetched.
func (m Host) CheckPull(ctx context.Context, image string) ([]Finding, error) {
	connection, err := connectCRI(m.Socket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	_, err = cri.NewImageServiceClient(connection).PullImage(ctx, &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("pulling %s: %w", image, ctx.Err())
	}
	if err == nil {
		return nil, nil
	}
	why := explainPullError(image, err.Error(), m.pullSecretRegistries())
	return []Finding{{Severity: report.SeverityWarning, Text: "image " + image + " cannot be pulled: " + why.text, Remedy: why.remedy, About: "pulling images"}}, nil
}
