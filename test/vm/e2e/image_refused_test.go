// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
)

// refuseImages checks upgrades to images that the host cannot or must not boot: each is refused with its cause before
// the node is drained and before anything is staged.
func refuseImages(ctx context.Context, t *testing.T) {
	t.Helper()
	image := pushNodeImage(t, refusedImage, nodeimage.NextRelease, nil)
	name, _, _ := strings.Cut(image, "@")
	const fill = "fallocate -l $(($(df --output=avail -B1 /var | tail -1) - 50000000)) /var/tmp/fill"
	for _, refused := range []struct {
		name, image, before, after, cause string
	}{
		{name: "wrong digest", image: name + "@sha256:" + strings.Repeat("0", 64), cause: "does not have the image"},
		{
			name: "unreachable registry", image: strings.Replace(image, "quay.io", "registry.invalid", 1),
			cause: "registry.invalid",
		},
		{
			name:  "no operating system",
			image: nodeimage.PushUnbootable(t, environment.ControlPlane, nodeimage.NextRelease), cause: "neither the label",
		},
		{
			name: "staged by another program", image: image, before: "rpm-ostree kargs --append=of-the-administrator=1",
			after: "rpm-ostree cleanup -p", cause: "another deployment is staged",
		},
		{
			name: "unlocked /usr", image: image, before: "ostree admin unlock", after: "umount --lazy /usr",
			cause: "/usr is unlocked",
		},
		{name: "no space", image: image, before: fill, after: "rm /var/tmp/fill", cause: "on the file system of /sysroot"},
	} {
		if refused.before != "" {
			mustOutput(ctx, t, refused.before)
		}
		serve(ctx, t, nativePayload(t, refused.image))
		result := runAgent(ctx, t, report.Refused, upgradeCommand)
		if !strings.Contains(result.Stdout+result.Stderr, refused.cause) {
			t.Errorf("%s: the output does not contain %q", refused.name, refused.cause)
		}
		if refused.after != "" {
			mustOutput(ctx, t, refused.after)
		}
		staged := mustOutput(ctx, t, "bootc status --format=json --format-version=1 | jq .status.staged")
		if staged != "null" {
			t.Errorf("%s: a deployment is staged", refused.name)
		}
		if isCordoned(ctx, t) {
			t.Errorf("%s: the node is cordoned", refused.name)
		}
	}
	// kubelet keeps the taint of a full disk for five minutes after there is space again.
	await(ctx, t, "hcp-node-agent status | grep -q 'Ready and schedulable'")
	checkContains(t, runAgent(ctx, t, report.Success, "status").Stdout, "no drift")
}
