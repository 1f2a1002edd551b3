// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// stageImage stages the image of the payload on RHEL CoreOS, whose software is in the image, and pulls the images that
// the node starts with.
func (r *run) stageImage(ctx context.Context, log report.Log) (steps.Outcome, error) {
	if err := r.checkImage(); err != nil {
		return steps.Outcome{}, err
	}
	isNew, err := r.node.HostImage().Stage(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if _, err := r.stageImages(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	if !isNew {
		return steps.Unchanged("the image of this host is that of the payload")
	}
	return steps.Changed("the image %s boots next", r.node.Plan.Image.Digest)
}

// checkImage refuses what an administrator must request: an image that moves the host to another major version of RHEL,
// and an image that the agent has rolled back on this host.
func (r *run) checkImage() error {
	update := r.node.Plan.Image
	if update == nil || r.state().Upgrade != nil {
		return nil
	}
	if move := r.node.Software.MajorMove(); move != nil && !r.options.AllowMajor {
		return report.Fail(report.Refused, move.Avoid()+"\n# to move it:\n"+
			"hcp-node-agent upgrade --user-data USER_DATA --allow-major",
			"the image %s %s", update.Digest, move)
	}
	images, err := joinstate.LoadImages(r.node.Run.Dir)
	if err != nil || r.options.RetryImage {
		return err
	}
	failed := images.FindFailed(update.Digest)
	if failed == nil {
		return nil
	}
	return report.Fail(report.Refused, "# when the cause is removed:\n"+
		"hcp-node-agent upgrade --user-data USER_DATA --retry-image",
		"the image %s has failed on this host at %s: %s", update.Digest, report.Timestamp(failed.Time), failed.Reason)
}

// isTrialOver reports whether the host has run the image of the unfinished upgrade for the maximum time in which its
// Node must be schedulable. The upgrade is then rolled back, whatever step fails.
func (r *run) isTrialOver() bool {
	return !r.imageBooted.IsZero() && time.Since(r.imageBooted) > applyTimeout
}

// markFailed records that the image of the unfinished upgrade, if the host runs it, must not be booted again.
func markFailed(dir, reason string) error {
	images, err := joinstate.LoadImages(dir)
	if err != nil || images.Update == nil || images.Update.Booted.IsZero() {
		return err
	}
	digest := images.Update.Digest
	isSame := func(failed joinstate.FailedImage) bool { return failed.Digest == digest }
	images.Failed = append(slices.DeleteFunc(images.Failed, isSame),
		joinstate.FailedImage{Digest: digest, Reason: reason, Time: time.Now().UTC()})
	return images.Save(dir)
}

// readDeployment records the deployment that the host runs during an unfinished upgrade, and makes the ledger describe
// its /etc if the host was rolled back.
func (r *run) readDeployment(ctx context.Context, m *machine.Machine) error {
	deployments, err := m.Reader().Deployments(ctx)
	if err != nil || deployments == nil {
		return err
	}
	if r.imageBooted, err = provision.RecordBootedImage(r.node.Run.Dir, deployments.Booted); err != nil {
		return err
	}
	images, err := joinstate.LoadImages(r.node.Run.Dir)
	if err != nil || images.Previous == nil || images.Previous.ID != deployments.Booted.ID() {
		return err
	}
	if err := m.Ledger.Rewind(images.Previous.Position, isOfDeployment); err != nil {
		return err
	}
	images.Arguments, images.Previous = images.Previous.Arguments, nil
	return images.Save(r.node.Run.Dir)
}

// isOfDeployment reports whether a deployment has an object of its own. All deployments share /var, and the links to it
// in /usr and the root directory.
func isOfDeployment(item ledger.Item) bool {
	return !path.IsAbs(item.Target) || hostfs.IsWithin(item.Target, "/etc")
}
