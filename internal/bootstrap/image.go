// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/rhcos"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// The image of RHEL CoreOS contains kubelet and CRI-O of a release. An update of the image precedes that of the files,
// so that a rollback of the image restores an /etc that was never changed:
//
//	old image   stage the image; in an upgrade while pods run, then drain the node; hold kubelet; reboot
//	new image   write the files of the payload; release and start kubelet; wait until the Node is Ready
//
// A run that resumes after the boot finds no update in its plan, because the host runs the image.

// StageImage stages the image of the plan, if it has one, and removes an image that an earlier run has staged for
// another payload. Pods keep running. It reports whether the host boots another image next.
func (j *Flow) StageImage(ctx context.Context, log report.Log) (bool, error) {
	images, err := joinstate.LoadImages(j.Run.Dir)
	if err != nil {
		return false, err
	}
	host := deployment.NewHost(j.Host.Facts.Class(), j.Host.Tree, func(line string) { log.Wait(line, "") })
	update := j.Plan.Image
	if images.Update != nil && (update == nil || images.Update.Digest != update.Digest) && images.Update.Booted.IsZero() {
		if err := host.DropStaged(ctx, images.Update.Digest); err != nil {
			return false, err
		}
		images.Update = nil
		if err := images.Save(j.Run.Dir); err != nil {
			return false, err
		}
	}
	switch {
	case update == nil:
		return false, nil
	case j.Run.RollsBackImage(j.Plan):
		return true, nil // to a deployment that exists
	case images.Update.HasRebooted(update.Digest, j.Host.Facts.BootID) && !j.Run.Attended: // else the person tries again
		return false, report.Fail(report.Failed, "journalctl -b -1 --no-pager -u ostree-finalize-staged.service # the "+
			"cause; often /boot is full: df -h /boot",
			"the host was rebooted, but not into the image %s; it runs %s", update.Digest, update.Booted)
	}
	if images.Update == nil || images.Update.Digest != update.Digest {
		images.Update = &joinstate.ImageUpdate{Digest: update.Digest}
		if err := images.Save(j.Run.Dir); err != nil {
			return false, err
		}
	}
	if err := j.writePullFiles(ctx); err != nil {
		return false, err
	}
	log.Wait("staging the image of the payload", "")
	return true, host.Stage(ctx, deployment.Target{
		Image: update.Image, AddArguments: update.KernelArguments.Add, RemoveArguments: update.KernelArguments.Remove,
		PullSecret: pods.PullSecretPath, Environment: j.Run.ProxyVariables(j.Loaded.Payload),
	})
}

// writePullFiles writes the files with which a host that has not joined pulls the image. A node pulls with the files of
// its present payload, because nothing of the next one is written to its /etc.
func (j *Flow) writePullFiles(ctx context.Context) error {
	if j.Run.State.Registered {
		return nil
	}
	made, err := j.Host.Ledger.Apply(ctx, steps.Files, j.Plan.PullFiles())
	if err != nil || len(made) == 0 {
		return err
	}
	if err := machine.UpdateTrustStoreIfNeeded(ctx, j.Plan.Files); err != nil {
		return err
	}
	return j.Host.Systemd.Reload(ctx)
}

// bootImage reboots the host into the image of the plan. It returns the failure that ends the run. A join reboots only
// on request.
func (j *Flow) bootImage(ctx context.Context, log report.Log) error {
	update := j.Plan.Image
	if _, err := j.StageImage(ctx, log); err != nil {
		return err
	}
	if err := j.keepAgent(ctx); err != nil {
		return err
	}
	command, what := j.Run.CommandName(), "into the image "+update.Digest
	if j.Run.State.Upgrade == nil && j.Run.Config.HostSettings != config.HostSettingsReboot {
		return j.Host.RebootNeeded(ctx, command,
			"the image of the payload is staged; the host must be rebooted %s before the %s continues", what, command)
	}
	images, err := joinstate.LoadImages(j.Run.Dir)
	if err != nil {
		return err
	}
	if images.First == nil {
		images.First = &joinstate.FirstImage{Image: update.Booted.PullSpec()}
	}
	images.Update = &joinstate.ImageUpdate{Digest: update.Digest, RebootedFrom: j.Host.Facts.BootID}
	if j.Run.RollsBackImage(j.Plan) {
		host := deployment.NewHost(j.Host.Facts.Class(), j.Host.Tree, nil)
		if err := host.Rollback(ctx, update.Digest, ""); err != nil {
			return err
		}
	} else {
		images.Previous = &joinstate.LeftDeployment{ID: update.Booted.ID(), Position: j.Host.Ledger.Position()}
	}
	if err := images.Save(j.Run.Dir); err != nil {
		return err
	}
	if err := joinstate.HoldKubelet(j.Run.Dir); err != nil {
		return err
	}
	return j.Host.Reboot(ctx, log, command, what)
}

// keepAgent installs the agent and its unit outside of the image if they are in the image that the host leaves.
func (j *Flow) keepAgent(ctx context.Context) error {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return fmt.Errorf("finding the program of the agent: %w", err)
	}
	if !hostfs.IsWithin(program, "/usr") {
		return nil
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the program of the agent: %w", err)
	}
	const reason = "the next image does not contain the agent"
	_, err = j.Host.Ledger.Apply(ctx, steps.Packages, []ledger.Change{
		{
			Kind: ledger.File, Target: rhcos.AgentTarget, Reason: reason,
			Desired: ledger.FileState(content, 0o755),
		},
		ledger.FileChange(rhcos.AgentServicePath, reason, rhcos.AgentService()),
		{
			Kind: ledger.Symlink, Target: "/etc/systemd/system/multi-user.target.wants/" + path.Base(rhcos.AgentServicePath),
			Reason:  reason,
			Desired: ledger.State{Present: true, Type: hostfs.Symlink, Link: rhcos.AgentServicePath},
		},
	})
	return err
}

// RecordBootedImage records that the host runs the image of the unfinished update. It returns when the agent has found
// that first, and zero without such an update.
func RecordBootedImage(dir string, booted deployment.Deployment) (time.Time, error) {
	images, err := joinstate.LoadImages(dir)
	if err != nil || images.Update == nil || !booted.HasDigest(images.Update.Digest) {
		return time.Time{}, err
	}
	if images.Update.Booted.IsZero() {
		images.Update.Booted = time.Now().UTC()
		err = images.Save(dir)
	}
	return images.Update.Booted, err
}

// FinishImage removes the record of the update of the image.
func (j *Flow) FinishImage() error {
	images, err := joinstate.LoadImages(j.Run.Dir)
	if err != nil || images.Update == nil {
		return err
	}
	images.Update = nil
	return images.Save(j.Run.Dir)
}

// ensureImage boots the image of the plan, as the step packages of a host whose image contains the packages.
func ensureImage(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	if j.Plan.Image != nil {
		return steps.Outcome{}, j.bootImage(ctx, log)
	}
	if _, err := j.StageImage(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("the image of this host is that of the payload")
}
