// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// UpgradeSteps returns the steps of an upgrade in order: those of a join, with the steps stage and drain
// before the first change of the node.
func UpgradeSteps() []Step {
	own := map[string]Step{
		steps.Fetch:    {Run: fetchUpgrade},
		steps.Validate: {Run: validateUpgrade},
		steps.Stage:    {Run: stageUpgrade},
		steps.Drain:    {Run: drainNode},
	}
	all := selectSteps(func(steps.JoinStep) bool { return true })
	for i, step := range all {
		if replacement, found := own[step.Name]; found {
			all[i].Run = replacement.Run
		}
	}
	return all
}

// upgradeParts returns the steps of an upgrade in three parts: what happens while pods run, the drain,
// and the changes of the node.
func upgradeParts() (prepare, drain, change []Step) {
	all := UpgradeSteps()
	at := slices.IndexFunc(all, func(step Step) bool { return step.Name == steps.Drain })
	return all[:at], all[at : at+1], all[at+1:]
}

// fetchUpgrade gets the payload of the user data, or that of an unfinished upgrade, which is installed.
func fetchUpgrade(ctx context.Context, j *join, log report.Log) (steps.Outcome, error) {
	if j.State.Upgrade != nil {
		if _, err := j.LoadPayload(ctx, log); err != nil {
			return steps.Outcome{}, err
		}
		return steps.Unchanged("%s, stored by an earlier run", j.PayloadSummary())
	}
	if err := j.FetchPayload(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	for _, warning := range j.Payload.Warnings {
		log.Note(warning)
	}
	isSame := j.State.PayloadDigest == j.Payload.Digest
	j.State.PayloadDigest, j.State.PayloadConfigHash = j.Payload.Digest, j.State.ConfigHash
	var err error
	if j.State.PayloadSourceDigest, err = j.Inputs.UserData.Digest(); err != nil {
		return steps.Outcome{}, err
	}
	if isSame {
		return steps.Unchanged("%s from %s, unchanged", j.PayloadSummary(), j.Payload.Server)
	}
	return steps.Changed("%s from %s", j.PayloadSummary(), j.Payload.Server)
}

// validateUpgrade runs the checks that need the payload. The release must be known, because the
// software of the node must match it.
func validateUpgrade(ctx context.Context, j *join, log report.Log) (steps.Outcome, error) {
	if j.SoftwareErr != nil && j.Config.OpenShiftRelease == config.Defaults().OpenShiftRelease {
		return steps.Outcome{}, report.Fail(report.Refused, "# make the OS image readable, or name the release of the NodePool with --openshift-release 4.Y",
			"the release of the payload is unknown: %w", j.SoftwareErr)
	}
	if j.isStaged() {
		j.useStagedPackages()
	}
	outcome, err := runValidation(ctx, j, log)
	if err == nil && j.State.Upgrade == nil && !j.upgrade.options.Stage {
		_, _, err = j.checkDrain(ctx, log) // before the download
	}
	return outcome, err
}

// requires reports whether a change of the upgrade takes effect by the action on the unit.
func (j *join) requires(action effects.Action, unit string) bool {
	return j.State.Upgrade != nil && j.State.Upgrade.Effects.Requires(action, unit)
}

// isRollingBack reports whether the previous payload and software are being restored.
func (j *join) isRollingBack() bool {
	return j.State.Upgrade != nil && j.State.Upgrade.RollingBack != ""
}

// isDrained reports whether an upgrade has drained the node.
func (j *join) isDrained() bool { return j.State.Upgrade != nil && !j.State.Upgrade.Drained.IsZero() }

// revertObsolete restores the objects that the payload of an upgrade does not contain any more, and
// returns their number.
func (j *join) revertObsolete(ctx context.Context, log report.Log) (int, error) {
	if j.State.Upgrade == nil {
		return 0, nil
	}
	items, err := j.Obsolete(ctx, j.Plan)
	if err != nil {
		return 0, err
	}
	obsolete := map[string]bool{}
	for _, item := range items {
		obsolete[item.Key()] = true
	}
	return j.revert(ctx, log, func(item ledger.Item) bool { return obsolete[item.Key()] })
}

// revert restores the selected objects and returns their number.
func (j *join) revert(ctx context.Context, log report.Log, selected func(ledger.Item) bool) (int, error) {
	result, err := j.Ledger.Revert(ctx, selected)
	for _, kept := range result.Kept {
		log.Warn(kept.KeptMessage(), "")
	}
	return len(result.Restored), err
}

// updateTrustStore updates the trust store if the payload contains a CA for it, or did so before the
// upgrade.
func (j *join) updateTrustStore(ctx context.Context) error {
	if u := j.State.Upgrade; u != nil && slices.ContainsFunc(u.Effects, func(e effects.Effect) bool { return hostfs.IsWithin(e.Target, crio.TrustAnchorsDir) }) {
		return machine.UpdateTrustStore(ctx)
	}
	return machine.UpdateTrustStoreIfNeeded(ctx, j.Plan.Files)
}

// restartUnits restarts the active units that were started before their files changed, and those of which
// an upgrade has changed or removed files. It returns their number. Later steps restart CRI-O and kubelet.
func (j *join) restartUnits(ctx context.Context, log report.Log) (int, error) {
	n := 0
	for unit, files := range j.unitsWithFiles() {
		state, err := j.Systemd.UnitState(ctx, unit)
		if err != nil {
			return n, err
		}
		newest, err := j.Tree.NewestChange(files...)
		if err != nil {
			return n, err
		}
		isRequired := j.requires(effects.Restart, unit)
		switch {
		case state.Load != "loaded": // it was removed
			continue
		case state.Active == "failed" && isRequired: // after the change that is rolled back
		case state.Active != "active":
			continue // it starts with its new files
		case !isRequired && state.Required(newest) == systemd.NoAction:
			continue
		}
		log.Wait("waiting for "+unit+" to restart", "")
		if err := j.Systemd.Restart(ctx, unit); err != nil {
			return n, j.DiagnosticsHost().ExplainStartFailure(ctx, unit, err)
		}
		n++
	}
	if !j.requires(effects.Restart, systemd.NetworkManagerUnit) {
		return n, nil
	}
	return n + 1, j.restartNetworkManager(ctx, log)
}

// unitsWithFiles returns the units that are restarted if a file of the plan or of the upgrade changes, with
// the files of the plan. A join does not restart NetworkManager, which would interrupt pods that are not
// drained: its configuration takes effect at the next boot.
func (j *join) unitsWithFiles() map[string][]string {
	units := map[string][]string{}
	if u := j.State.Upgrade; u != nil {
		for _, unit := range u.Effects.UnitsToRestart() {
			units[unit] = nil
		}
	}
	for _, file := range j.Plan.Files {
		if effect := effects.Of(file.Kind, file.Target); effect.Action == effects.Restart {
			units[effect.Unit] = append(units[effect.Unit], file.Target)
		}
	}
	for _, unit := range []string{systemd.KubeletUnit, systemd.CRIOUnit, systemd.NetworkManagerUnit} {
		delete(units, unit)
	}
	return units
}

// restartNetworkManager restarts NetworkManager, which keeps addresses, and waits until it has taken over
// the connections.
func (j *join) restartNetworkManager(ctx context.Context, log report.Log) error {
	log.Wait("waiting for NetworkManager to restart", "")
	if err := j.Systemd.Restart(ctx, systemd.NetworkManagerUnit); err != nil {
		return err
	}
	// NetworkManager reports no uplink until it has taken over the connections again.
	_, err := command.Run(ctx, "nm-online", "--wait-for-startup", "--quiet", "--timeout", "60")
	return err
}
