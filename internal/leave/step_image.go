// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// firstImage returns the image that the host ran before the agent booted another one, NAME@DIGEST. It fails if there is
// none that can be pulled.
func firstImage(dir string) (string, error) {
	images, err := joinstate.LoadImages(dir)
	switch {
	case err != nil:
		return "", err
	case images.First == nil:
		return "", report.Fail(report.Refused, "hcp-node-agent leave # without --restore-image",
			"the agent has not changed the image of this host")
	case images.First.Image == "":
		return "", report.Fail(report.Refused, "hcp-node-agent leave # without --restore-image; then reinstall the host",
			"the image cannot be restored: this host was installed from a disk image, with no image in a registry")
	}
	return images.First.Image, nil
}

// restoreImage stages the first image. It precedes the undo, which removes the pull secret. A rollback to an earlier
// deployment would not do: its /etc may be that of the node.
func restoreImage(document *Document) func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
	return func(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
		image, err := firstImage(f.Dir)
		if err != nil {
			return steps.Outcome{}, err
		}
		host := deployment.NewHost(f.Machine.Facts.Class(), f.Machine.Tree, func(line string) { log.Wait(line, "") })
		if err := host.Stage(ctx, deployment.Target{Image: image, PullSecret: pods.PullSecretPath}); err != nil {
			return steps.Outcome{}, err
		}
		text := "the host runs " + image + " from its next boot: systemctl reboot"
		document.NotRestored = append(document.NotRestored, text)
		return steps.Changed("%s", text)
	}
}
