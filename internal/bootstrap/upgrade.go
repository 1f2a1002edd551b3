// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// UpgradeOptions configures Upgrade.
type UpgradeOptions struct {
	inputs.Options
	HasInput     bool          // user data was given for this run, not by the configuration file
	Rollback     bool          // restore the generation before the last upgrade
	Stage        bool          // end before the drain, when everything is downloaded and unpacked
	NoDrain      bool          // do not drain the node, whatever the changes require
	DrainTimeout time.Duration // maximum time to evict the pods
}

// applyTimeout is the maximum time from the end of the drain until the Node is schedulable. An upgrade that
// takes longer is rolled back. Nothing is downloaded in this time.
const applyTimeout = 15 * time.Minute

// upgradeRun describes one run of an upgrade.
type upgradeRun struct {
	options UpgradeOptions
	began   time.Time
	running []string // IDs of the containers before the first change

	// mayRollBack: the step stage or a later one was started. If a resumed run fails before, its rollback
	// would fail for the same reason, such as a network that is not ready yet.
	mayRollBack bool
}

// Upgrade moves a joined node to the payload of new user data, or resumes an interrupted upgrade. If
// the node does not become schedulable with the new payload, it restores the previous one and returns
// the cause as error. It reports whether anything changed.
func Upgrade(ctx context.Context, options UpgradeOptions) (bool, error) {
	limited, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	m, lock, err := machine.Acquire(limited, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return false, err
	}
	changed, err := upgradeHost(ctx, m, options)
	m.Close()
	if lock.Stopped || err == nil {
		machine.StartService(context.WithoutCancel(ctx), options.Sink)
	}
	return changed, err
}

// upgradeHost runs the upgrade, and its rollback if it fails.
func upgradeHost(ctx context.Context, m *machine.Machine, options UpgradeOptions) (bool, error) {
	j, err := prepareUpgrade(m, options)
	if err != nil {
		return false, err
	}
	changed, cause := j.runUpgrade(ctx)
	if cause == nil || !j.mustRollBack(ctx, cause) {
		return changed, j.explainUpgrade(cause)
	}
	log := report.Log{Sink: j.Sink, Step: "rollback"}
	log.Warn("the upgrade failed; restoring the previous payload and software: "+cause.Error(), report.RemedyOf(cause))
	if err := startRollback(j.Dir, j.State, cause.Error()); err != nil {
		return changed, errors.Join(cause, err)
	}
	options.HasInput = false
	back, err := prepareUpgrade(m, options)
	if err == nil {
		_, err = back.runUpgrade(ctx)
	}
	if err != nil {
		return true, report.Fail(report.CodeOf(err), joinstate.ResumeUpgrade, "the upgrade failed (%w), and its rollback too: %w", cause, err)
	}
	return true, report.Fail(report.CodeOf(cause), report.RemedyOf(cause), "the upgrade was rolled back, because it failed: %w", cause)
}

// mustRollBack reports whether the failure of an upgrade must be rolled back. An interrupted run, or
// one that awaits a reboot, is resumed. A repeated generation cannot be rolled back.
func (j *join) mustRollBack(ctx context.Context, err error) bool {
	u := j.State.Upgrade
	return u != nil && u.RollingBack == "" && !u.Repeats && j.upgrade.mayRollBack && ctx.Err() == nil &&
		!slices.Contains([]report.Code{report.Interrupted, report.RebootNeeded}, report.CodeOf(err))
}

// explainUpgrade adds how an unfinished upgrade continues to its error.
func (j *join) explainUpgrade(err error) error {
	if err == nil || j.State.Upgrade == nil || report.CodeOf(err) == report.RebootNeeded {
		return err
	}
	return report.Fail(report.CodeOf(err), joinstate.ResumeUpgrade, "%w", err)
}

// runUpgrade runs the steps, and completes the upgrade. The timeout of the run applies until the drain: later,
// it would leave the node in between.
func (j *join) runUpgrade(ctx context.Context) (bool, error) {
	j.upgrade.began = time.Now()
	report.Log{Sink: j.Sink}.Headline(j.upgradeHeadline())
	runner := steps.Runner{
		Sink: j.Sink, Ledger: j.Ledger,
		// The last step uncordons the node.
		Skip: slices.DeleteFunc(slices.Clone(j.Config.Skip), func(name string) bool { return name == steps.Schedulable }),
		Completed: func(name, _ string, _ time.Duration) error {
			if j.State.Upgrade == nil {
				return nil // nothing has been changed
			}
			j.State.Upgrade.Step = name
			return joinstate.Write(j.Dir, j.State)
		},
	}
	prepare, drain, change := upgradeParts()
	j.upgrade.running, _ = cri.RunningContainers(ctx, cri.Socket) // of CRI-O that does not run, nothing is measured
	limited, cancel := j.upgrade.options.Config.WithTimeout(ctx)
	defer cancel()
	staged, err := steps.Run(limited, runner, prepare, j)
	if err != nil {
		return j.State.Upgrade != nil, err
	}
	if j.upgrade.options.Stage {
		report.Log{Sink: j.Sink}.Headline("the upgrade of " + j.State.NodeName + describeReleases("", releaseOf(j.Software)) + " is staged; " +
			"start it with: hcp-node-agent upgrade --user-data " + j.userDataFile())
		return staged, nil
	}
	if _, err := steps.Run(ctx, runner, drain, j); err != nil {
		return j.State.Upgrade != nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	changed, err := steps.Run(bounded, runner, change, j)
	if err != nil {
		return true, err
	}
	return changed, j.finishUpgrade(ctx, changed)
}

func (j *join) upgradeHeadline() string {
	u := j.State.Upgrade
	switch {
	case j.isRollingBack():
		return "rolling back " + j.State.NodeName + describeReleases("", u.To)
	case u != nil:
		return "resuming the upgrade of " + j.State.NodeName + describeReleases("", u.To)
	}
	verb := "upgrading"
	if j.upgrade.options.Stage {
		verb = "staging the upgrade of"
	}
	return fmt.Sprintf("%s %s of NodePool %s", verb, j.State.NodeName, j.State.NodePool)
}

// describeReleases returns " from OpenShift A to OpenShift B", without the releases that are unknown.
func describeReleases(from, to string) string {
	text := ""
	if from != "" && from != to {
		text += " from OpenShift " + from
	}
	if to != "" {
		text += " to OpenShift " + to
	}
	return text
}

// finishUpgrade makes the new generation permanent.
func (j *join) finishUpgrade(ctx context.Context, changed bool) error {
	u := *j.State.Upgrade
	if u.RollingBack == "" || !j.isStagedSoftwareUnpacked() {
		j.State.Staged = nil
	}
	if err := j.removeUnusedSoftware(ctx); err != nil {
		return err
	}
	if err := joinstate.RemoveFiles(j.Dir, joinstate.PackagesDir); err != nil {
		return err
	}
	if err := joinstate.FinishUpgrade(j.Dir, &j.State); err != nil {
		return err
	}
	text := j.State.NodeName + " is upgraded" + describeReleases(u.From, u.To)
	switch {
	case u.RollingBack != "":
		text = j.State.NodeName + " is rolled back" + describeReleases(u.From, u.To)
	case !changed:
		text = j.State.NodeName + " is up to date, nothing was changed"
	}
	text += fmt.Sprintf(" (%s)", time.Since(j.upgrade.began).Round(time.Second))
	if downtime := j.describeDowntime(ctx, u); downtime != "" {
		text += "; " + downtime
	}
	report.Log{Sink: j.Sink}.Headline(text)
	return nil
}

// describeDowntime returns what the upgrade meant for pods: how long the node was drained, or how many
// containers kept running. It returns "" if an earlier run of the upgrade was interrupted.
func (j *join) describeDowntime(ctx context.Context, u joinstate.Upgrade) string {
	if !u.Drained.IsZero() {
		return "pods could not run for " + time.Since(u.Drained).Round(time.Second).String()
	}
	now, err := cri.RunningContainers(ctx, cri.Socket)
	if err != nil || len(j.upgrade.running) == 0 || u.Started.Before(j.upgrade.began) {
		return ""
	}
	kept := 0
	for _, id := range j.upgrade.running {
		if slices.Contains(now, id) {
			kept++
		}
	}
	return fmt.Sprintf("%d of %d containers kept running", kept, len(j.upgrade.running))
}
