// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Step is one step of a maintenance.
type Step = steps.Step[*flow]

// preparationSteps is the number of first steps. They change neither the node nor the packages of the host,
// and the record of the maintenance exists after them.
const preparationSteps = 2

// Steps returns the steps of a maintenance in order.
func Steps() []Step {
	return []Step{
		{Name: "check", Description: "find updates, and updates that are not running", Run: checkHost},
		{Name: "download", Description: "download the packages while pods run", Run: download},
		{Name: "drain", Description: "cordon and drain the node", Run: drain},
		{Name: "update", Description: "update the packages with dnf", Run: update},
		{Name: "reboot", Description: "reboot the host if an update requires it", Run: reboot},
		{Name: "ready", Description: "wait until the Node is Ready", Run: awaitReady},
		{Name: "schedulable", Description: "uncordon the node and wait until it is schedulable", Run: uncordon},
	}
}

// checkHost determines the work. For an unfinished maintenance it is recorded.
func checkHost(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	if f.record != nil {
		return steps.Unchanged("resuming the maintenance of %s", report.Timestamp(f.record.Started))
	}
	if err := f.gatherWork(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	if f.work.isNothing() {
		return steps.Unchanged("no updates, and no reboot is pending")
	}
	for _, note := range f.work.notes() {
		log.Note(note)
	}
	client, err := f.node(log)
	if err == nil {
		err = client.CheckDrain(ctx)
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("%s", f.work.summary())
}

// download downloads the updates. A resumed maintenance does so again, because a power failure may have
// damaged the downloaded packages.
func download(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	switch {
	case f.record != nil && f.record.Updated:
		return steps.Unchanged("the packages are updated")
	case f.record != nil && !f.record.Update, f.record == nil && len(f.work.updates) == 0:
		return steps.Unchanged("no packages to update")
	}
	if err := f.updater.Download(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Changed("the updates are in dnf's cache")
}

// drain drains the node.
func drain(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	if f.record.Drained {
		return steps.Unchanged("the node is drained")
	}
	client, err := f.node(log)
	if err == nil {
		err = client.Drain(ctx, node.ForMaintenance, time.Duration(f.record.DrainTimeout), f.record.Started)
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	f.record.Drained = true
	return steps.Changed("the node is cordoned and drained")
}

// update updates the packages. After an interruption, dnf updates the packages that remain.
func update(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	switch {
	case f.record.Updated:
		return steps.Unchanged("the packages are updated")
	case !f.record.Update:
		return steps.Unchanged("no packages to update")
	}
	if err := f.updater.Update(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	last, err := f.updater.LastTransaction(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	f.record.Updated = true
	if last == f.record.Transaction {
		return steps.Unchanged("the packages are up to date")
	}
	return steps.Changed("the packages are updated (dnf history info %s)", last)
}

// reboot reboots the host, and then ends the run with a failure. The service resumes the maintenance.
func reboot(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	pending, err := software.PendingUpdates(ctx, f.machine.Systemd.Reader())
	if err != nil {
		return steps.Outcome{}, err
	}
	boot := f.machine.Facts.BootID
	action, reason := decideReboot(*f.record, pending, boot)
	switch action {
	case isRebooted:
		if err := f.checkBooted(ctx, log); err != nil {
			return steps.Outcome{}, err
		}
		for _, finding := range pending {
			log.Warn("after the reboot, "+finding.Message,
				"journalctl -b # and check which kernel the boot loader starts")
		}
		return steps.Unchanged("the host was rebooted")
	case noReboot:
		return steps.Unchanged("no update requires a reboot; dnf needs-restarting lists the processes that use " +
			"replaced files")
	case rebootNow:
	}
	deployments, err := f.machine.Reader().Deployments(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	f.record.RebootedFrom, f.record.Deployment = boot, pendingDeployment(deployments)
	if err := f.writeRecord(); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Outcome{}, f.machine.Reboot(ctx, log, "maintenance", reason)
}

// pendingDeployment returns the ID of the deployment that boots next, "" if it is the booted one, or in package mode.
func pendingDeployment(deployments *deployment.Status) string {
	if deployments == nil || deployments.Next() == nil {
		return ""
	}
	return deployments.Next().ID()
}

// checkBooted warns if the reboot has not started the deployment that was staged: a power failure loses it, and a full
// /boot prevents its boot entry.
func (f *flow) checkBooted(ctx context.Context, log report.Log) error {
	deployments, err := f.machine.Reader().Deployments(ctx)
	if err != nil || deployments == nil {
		return err
	}
	if text := describeMissedBoot(*f.record, *deployments); text != "" {
		log.Warn(text, "df -h /boot\njournalctl -b -1 -u ostree-finalize-staged.service # then stage the image again: "+
			"bootc upgrade")
	}
	return nil
}

// describeMissedBoot returns a message if another deployment is booted than the one that was staged, else "".
func describeMissedBoot(record joinstate.Maintenance, deployments deployment.Status) string {
	if record.Deployment == "" || record.Deployment == deployments.Booted.ID() {
		return ""
	}
	return "the reboot did not start the staged deployment; the host runs " + deployments.Booted.String()
}

// awaitReady waits until the Node is Ready in the current boot.
func awaitReady(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	client, err := f.node(log)
	if err == nil {
		err = client.WaitReady(ctx)
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("Node %s is Ready", client.Name)
}

// uncordon uncordons the node unless the administrator has cordoned it: the cordon of the drain has an
// annotation.
func uncordon(ctx context.Context, f *flow, log report.Log) (steps.Outcome, error) {
	client, err := f.node(log)
	if err == nil {
		err = client.WaitSchedulable(ctx)
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	if status.Unschedulable {
		return steps.Unchanged("Node %s remains cordoned by the administrator", client.Name)
	}
	return steps.Changed("Node %s is schedulable", client.Name)
}
