// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// prepareUpgrade reads the inputs of a new upgrade, or installs the generation of the unfinished one.
// For a new upgrade, it changes nothing.
func prepareUpgrade(m *machine.Machine, options UpgradeOptions) (*join, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(checkUpgradable(state, options), joinstate.CheckNoMaintenance(options.StateDir)); err != nil {
		return nil, err
	}
	if err := joinstate.CheckMachineID(state, m.Facts.MachineID, options.StateDir); err != nil {
		return nil, err
	}
	if options.Rollback && (state.Upgrade == nil || state.Upgrade.RollingBack == "") {
		if err := startRollback(options.StateDir, state, "requested by the administrator"); err != nil {
			return nil, err
		}
		if state, err = joinstate.Read(options.StateDir); err != nil {
			return nil, err
		}
	}
	j := &join{
		Builder: &plan.Builder{Dir: options.StateDir, Sink: options.Sink, State: state, Machine: m, Upgrading: true},
		upgrade: &upgradeRun{options: options},
	}
	if state.Upgrade != nil {
		return j, j.installGeneration()
	}
	j.Config = inputs.MergeSaved(options.Config, state)
	if j.Inputs, err = inputs.Read(options.Options, state); err != nil {
		return nil, err
	}
	if j.Inputs.UserData == nil {
		return nil, report.Fail(report.Usage, "hcp-node-agent upgrade --user-data USER_DATA # with the current user data of the NodePool", "no user data was given")
	}
	if err := j.checkNodePool(); err != nil {
		return nil, err
	}
	j.State.Config = j.Config
	j.State.SetSource(j.Inputs.UserData)
	return j, nil
}

// checkUpgradable fails if the host is not a node that an upgrade can change.
func checkUpgradable(state joinstate.State, options UpgradeOptions) error {
	if err := state.CheckHasJoined(); err != nil {
		return err
	}
	switch {
	case !state.Hosted:
		return report.Fail(report.Refused, "oc get machineconfigpools # prints the state of the pools",
			"this host is a node of a standalone cluster, whose machine-config-daemon upgrades it")
	case state.Upgrade != nil && (options.HasInput || options.Stage) && !options.Rollback:
		return state.CheckNotUpgrading()
	}
	return nil
}

// installGeneration makes the generation of an unfinished upgrade the current one, and reads its inputs.
func (j *join) installGeneration() error {
	if err := joinstate.InstallUpgrade(j.Dir, &j.State); err != nil {
		return err
	}
	j.Config = j.State.Config
	var err error
	j.Inputs, err = inputs.Read(inputs.Options{Config: j.Config, Resume: true, StateDir: j.Dir}, j.State)
	return err
}

// startRollback records durably that the previous generation is to be installed again. The node is
// drained only if an administrator has requested the rollback of a finished upgrade.
func startRollback(dir string, state joinstate.State, reason string) error {
	previous, err := joinstate.LoadPrevious(dir, state)
	if err != nil {
		return err
	}
	u := joinstate.Upgrade{Started: time.Now().UTC(), Drain: true}
	if state.Upgrade != nil {
		u = *state.Upgrade
		u.Drain, u.Step = false, ""
	} else {
		current, err := joinstate.LoadSoftware(dir)
		if err != nil {
			return err
		}
		u.To = releaseOf(current)
	}
	contents, err := previous.Software()
	if err != nil {
		return err
	}
	u.From, u.To, u.RollingBack = u.To, releaseOf(contents), reason
	return joinstate.BeginRollback(dir, state, u)
}

// commitUpgrade records durably that the upgrade changes the host from here on, how its changes take
// effect, and the generations before and after. An interrupted upgrade is then resumed.
func (j *join) commitUpgrade(required effects.Effects) error {
	if u := j.State.Upgrade; u != nil {
		u.Effects = u.Effects.Merge(required)
		return joinstate.Write(j.Dir, j.State)
	}
	next, err := j.newGeneration()
	if err != nil {
		return err
	}
	stored, err := joinstate.LoadSoftware(j.Dir)
	if err != nil {
		return err
	}
	begun, err := joinstate.BeginUpgrade(j.Dir, next, joinstate.Upgrade{
		Started: time.Now().UTC(),
		From:    releaseOf(stored),
		To:      releaseOf(j.Software),
		Effects: required,
		Drain:   !j.upgrade.options.NoDrain,
	})
	if err != nil {
		return err
	}
	j.State.Upgrade = begun
	return joinstate.InstallUpgrade(j.Dir, &j.State)
}

// keepVersions records the versions of packages that an upgrade replaces in the previous generation, so
// that a rollback installs exactly them. The OS image of the previous payload can have others.
func (j *join) keepVersions(replaced []software.Choice) error {
	if u := j.State.Upgrade; u == nil || u.RollingBack != "" || u.Repeats || len(replaced) == 0 {
		return nil
	}
	previous, err := joinstate.LoadGeneration(j.Dir, joinstate.PreviousFile)
	if err != nil {
		return err
	}
	contents, err := previous.Software()
	if err != nil || contents == nil {
		return err
	}
	for _, c := range replaced {
		contents.ReplaceVersion(c)
	}
	if err := previous.SetSoftware(*contents); err != nil {
		return err
	}
	return previous.Save(j.Dir, joinstate.PreviousFile)
}

// releaseOf returns the release of software, or "" if it is unknown.
func releaseOf(contents *software.Contents) string {
	if contents == nil || contents.Release.IsZero() {
		return ""
	}
	return contents.Release.String()
}

// newGeneration returns the generation of the fetched payload.
func (j *join) newGeneration() (joinstate.Generation, error) {
	files := map[string][]byte{joinstate.PayloadFile: j.Payload.Raw}
	overrides, err := inputs.EncodeOverrides(j.Inputs.Overrides)
	if err != nil {
		return joinstate.Generation{}, err
	}
	if overrides != nil {
		files[joinstate.OverridesFile] = overrides
	}
	next := joinstate.NewGeneration(j.State, files)
	if j.Software != nil {
		err = next.SetSoftware(*j.Software)
	}
	return next, err
}
