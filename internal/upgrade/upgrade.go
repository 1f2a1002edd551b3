// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Options configures Upgrade.
type Options struct {
	request.Options
	HasInput     bool          // user data was given for this run, not by the configuration file
	Rollback     bool          // restore the generation before the last upgrade
	Stage        bool          // end before the drain, when everything is downloaded and unpacked
	RetryImage   bool          // boot an image that has failed before
	AllowMajor   bool          // boot an image with another major version of RHEL
	NoDrain      bool          // do not drain the node, whatever the changes require
	DrainTimeout time.Duration // maximum time to evict the pods; 0 for DefaultDrainTimeout, or that of the resumed run
}

// applyTimeout is the maximum time from the end of the drain until the Node is schedulable. An upgrade that
// takes longer is rolled back. Nothing is downloaded in this time.
const applyTimeout = 15 * time.Minute

// run is one run of an upgrade. The record of the upgrade, which is nil until the upgrade changes the host, is in the
// state of the node: the releases, the effects of the changes and the phase.
type run struct {
	node    *bootstrap.Flow // what the upgrade has in common with a join
	options Options
	began   time.Time
	running []string // IDs of the containers before the first change

	// mayRollBack: the step stage or a later one was started. If a resumed run fails before, its rollback
	// would fail for the same reason, such as a network that is not ready yet.
	mayRollBack bool
	imageBooted time.Time // when the agent has found the image of the upgrade booted; zero: the image is not updated
}

// state returns the state of the node, which contains the record of the upgrade.
func (r *run) state() *joinstate.State { return &r.node.Run.State }

// Upgrade moves a joined node to the payload of new user data, or resumes an interrupted upgrade. If
// the node does not become schedulable with the new payload, it restores the previous one and returns
// the cause as error. It reports whether anything changed.
func Upgrade(ctx context.Context, options Options) (bool, error) {
	limited, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	options = options.withCompleteRemedies()
	m, lock, err := machine.Acquire(limited, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return false, err
	}
	changed := false
	// It fails with the remedy of another command, such as join on a host that has not joined.
	r, err := prepare(ctx, m, options)
	if err == nil {
		changed, err = r.upgradeHost(ctx, m)
		err = options.CompleteError(err)
	}
	m.Close()
	if lock.Stopped || err == nil {
		machine.StartService(context.WithoutCancel(ctx), options.Sink)
	}
	return changed, err
}

// withCompleteRemedies returns options whose remedies are commands of this upgrade, with its inputs, also if the
// service resumes it.
func (o Options) withCompleteRemedies() Options {
	o.Command = request.UpgradeCommand
	o.Sink = o.RemedySink(func() bool { return false })
	return o
}

// upgradeHost runs the upgrade, and its rollback if it fails.
func (r *run) upgradeHost(ctx context.Context, m *machine.Machine) (bool, error) {
	changed, cause := r.runSteps(ctx)
	if cause == nil || !r.mustRollBack(ctx, cause) {
		return changed, r.explain(cause)
	}
	log := report.Log{Sink: r.node.Run.Sink, Step: "rollback"}
	log.Warn("the upgrade failed; restoring the previous payload and software: "+cause.Error(), report.RemedyOf(cause))
	if err := errors.Join(markFailed(r.node.Run.Dir, cause.Error()),
		startRollback(r.node.Run.Dir, *r.state(), cause.Error())); err != nil {
		return changed, errors.Join(cause, err)
	}
	options := r.options
	options.HasInput = false
	back, err := prepare(ctx, m, options)
	if err == nil {
		_, err = back.runSteps(ctx)
	}
	if report.CodeOf(err) == report.RebootNeeded {
		return true, err // into the previous image
	}
	if err != nil {
		return true, report.Fail(report.CodeOf(err), joinstate.ResumeUpgrade,
			"the upgrade failed (%w), and its rollback too: %w", cause, err)
	}
	return true, report.Fail(report.CodeOf(cause), report.RemedyOf(cause),
		"the upgrade was rolled back, because it failed: %w", cause)
}

// mustRollBack reports whether the failure of an upgrade must be rolled back. An interrupted run, or
// one that awaits a reboot, is resumed. A repeated generation cannot be rolled back.
func (r *run) mustRollBack(ctx context.Context, err error) bool {
	u := r.state().Upgrade
	mayRollBack := r.mayRollBack || r.isTrialOver()
	return u != nil && u.RollingBack == "" && !u.SameGeneration && mayRollBack && ctx.Err() == nil &&
		!slices.Contains([]report.Code{report.Interrupted, report.RebootNeeded}, report.CodeOf(err))
}

// explain adds how an unfinished upgrade continues to its error.
func (r *run) explain(err error) error {
	if err == nil || r.state().Upgrade == nil || report.CodeOf(err) == report.RebootNeeded {
		return err
	}
	return report.Fail(report.CodeOf(err), joinstate.ResumeUpgrade, "%w", err)
}

// runSteps runs the steps, and completes the upgrade. The timeout of the run applies until the drain: later,
// it would leave the node in between.
func (r *run) runSteps(ctx context.Context) (bool, error) {
	r.began = time.Now()
	report.Log{Sink: r.node.Run.Sink}.Headline(r.headline())
	runner := steps.Runner{
		Sink: r.node.Run.Sink, Ledger: r.node.Host.Ledger,
		// The last step uncordons the node.
		Skip: slices.DeleteFunc(slices.Clone(r.node.Run.Config.Skip),
			func(name string) bool { return name == steps.Schedulable }),
		Completed: func(name, _ string, _ time.Duration) error {
			if r.state().Upgrade == nil {
				return nil // nothing has been changed
			}
			r.state().Upgrade.Step = name
			return joinstate.Write(r.node.Run.Dir, *r.state())
		},
	}
	prepare, drain, change := parts()
	r.running, _ = cri.RunningContainers(ctx, cri.Socket) // of CRI-O that does not run, nothing is measured
	limited, cancel := r.options.Config.WithTimeout(ctx)
	defer cancel()
	staged, err := steps.Run(limited, runner, prepare, r)
	if err != nil {
		return r.state().Upgrade != nil, err
	}
	if r.options.Stage {
		report.Log{Sink: r.node.Run.Sink}.Headline("the upgrade of " +
			r.state().NodeName + describeReleases("", releaseOf(r.node.Software.Contents)) + " is staged; " +
			"start it with: hcp-node-agent upgrade --user-data " + r.node.Run.UserDataArgument())
		return staged, nil
	}
	if _, err := steps.Run(ctx, runner, drain, r); err != nil {
		return r.state().Upgrade != nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	changed, err := steps.Run(bounded, runner, change, r)
	if err != nil {
		return true, err
	}
	return changed, r.finish(ctx, changed)
}

func (r *run) headline() string {
	u := r.state().Upgrade
	switch {
	case r.state().Upgrade.IsRollingBack():
		return "rolling back " + r.state().NodeName + describeReleases("", u.To)
	case u != nil:
		return "resuming the upgrade of " + r.state().NodeName + describeReleases("", u.To)
	}
	verb := "upgrading"
	if r.options.Stage {
		verb = "staging the upgrade of"
	}
	return fmt.Sprintf("%s %s of NodePool %s", verb, r.state().NodeName, r.state().NodePool)
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

// finish makes the new generation permanent.
func (r *run) finish(ctx context.Context, changed bool) error {
	u := *r.state().Upgrade
	if u.RollingBack == "" || !r.isStagedSoftwareUnpacked() {
		r.state().Staged = nil
	}
	if err := errors.Join(r.node.Packages().RemoveUnused(ctx), provision.FinishImage(r.node.Run.Dir)); err != nil {
		return err
	}
	if err := joinstate.RemoveFiles(r.node.Run.Dir, joinstate.PackagesDir); err != nil {
		return err
	}
	if err := joinstate.FinishUpgrade(r.node.Run.Dir, r.state()); err != nil {
		return err
	}
	text := r.state().NodeName + " is upgraded" + describeReleases(u.From, u.To)
	switch {
	case u.RollingBack != "":
		text = r.state().NodeName + " is rolled back" + describeReleases(u.From, u.To)
	case !changed:
		text = r.state().NodeName + " is up to date, nothing was changed"
	}
	text += fmt.Sprintf(" (%s)", time.Since(r.began).Round(time.Second))
	if downtime := r.describeDowntime(ctx, u); downtime != "" {
		text += "; " + downtime
	}
	report.Log{Sink: r.node.Run.Sink}.Headline(text)
	return nil
}

// describeDowntime returns what the upgrade meant for pods: how long the node was drained, or how many
// containers kept running. It returns "" if an earlier run of the upgrade was interrupted.
func (r *run) describeDowntime(ctx context.Context, u joinstate.Upgrade) string {
	if !u.Drained.IsZero() {
		return "pods could not run for " + time.Since(u.Drained).Round(time.Second).String()
	}
	now, err := cri.RunningContainers(ctx, cri.Socket)
	if err != nil || len(r.running) == 0 || u.Started.Before(r.began) {
		return ""
	}
	kept := lists.Count(r.running, func(id string) bool { return slices.Contains(now, id) })
	return fmt.Sprintf("%d of %d containers kept running", kept, len(r.running))
}
