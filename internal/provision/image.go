// SPDX-License-Identifier: Apache-2.0

package provision

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
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
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

// HostImage updates the image of a host that contains its software.
type HostImage struct {
	Run     *plan.Run
	Host    *machine.Machine
	Plan    *plan.Plan
	Payload *ignition.Payload
}

// Stage stages the image of the plan, if it has one, and removes an image that an earlier run has staged for
// another payload. Pods keep running. It reports whether the host boots another image next.
func (i HostImage) Stage(ctx context.Context, log report.Log) (bool, error) {
	images, err := joinstate.LoadImages(i.Run.Dir)
	if err != nil {
		return false, err
	}
	host := deployment.NewHost(i.Host.Facts.Class(), i.Host.Tree, func(line string) { log.Wait(line, "") })
	update := i.Plan.Image
	if images.Update != nil && (update == nil || images.Update.Digest != update.Digest) && images.Update.Booted.IsZero() {
		if err := host.DropStaged(ctx, images.Update.Digest); err != nil {
			return false, err
		}
		images.Update = nil
		if err := images.Save(i.Run.Dir); err != nil {
			return false, err
		}
	}
	switch {
	case update == nil:
		return false, nil
	case i.Run.RollsBackImage(i.Plan):
		return true, nil // to a deployment that exists
	case images.Update.HasRebooted(update.Digest, i.Host.Facts.BootID) && !i.Run.Attended: // else the person tries again
		return false, report.Fail(report.Failed, "journalctl -b -1 --no-pager -u ostree-finalize-staged.service # the "+
			"cause; often /boot is full: df -h /boot",
			"the host was rebooted, but not into the image %s; it runs %s", update.Digest, update.Booted)
	}
	if images.Update == nil || images.Update.Digest != update.Digest {
		images.Update = &joinstate.ImageUpdate{Digest: update.Digest}
		if err := images.Save(i.Run.Dir); err != nil {
			return false, err
		}
	}
	if err := i.writePullFiles(ctx); err != nil {
		return false, err
	}
	former, err := i.formerArguments(images)
	if err != nil {
		return false, err
	}
	log.Wait("staging the image of the payload", "")
	return true, host.Stage(ctx, deployment.Target{
		Image: update.Image, AddArguments: update.KernelArguments.Add, RemoveArguments: update.KernelArguments.Remove,
		Revert:     former.revertFor(update.KernelArguments),
		PullSecret: pods.PullSecretPath, Environment: i.Run.ProxyVariables(i.Payload),
	})
}

// writePullFiles writes the files with which a host that has not joined pulls the image. A node pulls with the files of
// its present payload, because nothing of the next one is written to its /etc.
func (i HostImage) writePullFiles(ctx context.Context) error {
	if i.Run.State.Registered {
		return nil
	}
	made, err := i.Host.Ledger.Apply(ctx, steps.Files, i.Plan.PullFiles())
	if err != nil || len(made) == 0 {
		return err
	}
	if err := machine.UpdateTrustStoreIfNeeded(ctx, i.Plan.Files); err != nil {
		return err
	}
	return i.Host.Systemd.Reload(ctx)
}

// Boot reboots the host into the image of the plan. It returns the failure that ends the run. A join reboots only
// on request.
func (i HostImage) Boot(ctx context.Context, log report.Log) error {
	update := i.Plan.Image
	if _, err := i.Stage(ctx, log); err != nil {
		return err
	}
	if err := keepAgent(ctx, i.Host.Ledger); err != nil {
		return err
	}
	images, err := joinstate.LoadImages(i.Run.Dir)
	if err != nil {
		return err
	}
	command, what := i.Run.CommandName(), "into the image "+update.Digest
	if i.Run.State.Upgrade == nil && i.Run.Config.HostSettings != config.HostSettingsReboot {
		if err := i.recordArguments(&images); err != nil {
			return err
		}
		if err := images.Save(i.Run.Dir); err != nil {
			return err
		}
		return i.Host.RebootNeeded(ctx, command,
			"the image of the payload is staged; the host must be rebooted %s before the %s continues", what, command)
	}
	if images.First == nil {
		images.First = &joinstate.FirstImage{Image: update.Booted.PullSpec()}
	}
	images.Update = &joinstate.ImageUpdate{Digest: update.Digest, RebootedFrom: i.Host.Facts.BootID}
	if i.Run.RollsBackImage(i.Plan) {
		host := deployment.NewHost(i.Host.Facts.Class(), i.Host.Tree, nil)
		if err := host.Rollback(ctx, update.Digest, ""); err != nil {
			return err
		}
	} else if err := i.recordDeployments(&images); err != nil {
		return err
	}
	if err := images.Save(i.Run.Dir); err != nil {
		return err
	}
	if err := joinstate.HoldKubelet(i.Run.Dir); err != nil {
		return err
	}
	return i.Host.Reboot(ctx, log, command, what)
}

// keepAgent installs the agent and its unit outside of the image if they are in the image that the host leaves.
func keepAgent(ctx context.Context, l *ledger.Ledger) error {
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
	_, err = l.Apply(ctx, steps.Packages, []ledger.Change{
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

// FinishImage removes the record of the update of the image from the state directory.
func FinishImage(dir string) error {
	images, err := joinstate.LoadImages(dir)
	if err != nil || images.Update == nil {
		return err
	}
	images.Update = nil
	return images.Save(dir)
}
