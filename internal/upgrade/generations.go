// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"cmp"
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// prepare reads the inputs of a new upgrade, or installs the generation of the unfinished one.
// For a new upgrade, it changes nothing.
func prepare(ctx context.Context, m *machine.Machine, options Options) (*run, error) {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	if options.HasInput && state.Upgrade != nil {
		isSame, err := repeatsUpgrade(ctx, options, state)
		if err != nil {
			return nil, err
		}
		options.HasInput = !isSame
	}
	if err := cmp.Or(checkUpgradable(state, options), joinstate.CheckNoMaintenance(options.StateDir),
		joinstate.CheckSoftware(options.StateDir)); err != nil {
		return nil, err
	}
	if err := cmp.Or(joinstate.CheckMachineID(state, m.Facts.MachineID, options.StateDir),
		m.RequireSystemd()); err != nil {
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
	r := &run{
		node: bootstrap.NewFlow(plan.Run{
			Attended:  options.Attended,
			Dir:       options.StateDir,
			Sink:      options.Sink,
			State:     state,
			Upgrading: true,
		}, m),
		options: options,
	}
	if state.Upgrade != nil {
		if err := r.readDeployment(ctx, m); err != nil {
			return nil, err
		}
		return r, r.installGeneration(ctx)
	}
	r.node.Run.Request, err = request.Read(ctx, options.Options, state, request.UserDataOfNodePool)
	if err != nil {
		return nil, err
	}
	if r.node.Run.UserData == nil {
		return nil,
			report.Fail(report.Usage,
				"hcp-node-agent upgrade --user-data USER_DATA # with the current user data of the NodePool",
				"no user data was given")
	}
	r.state().Config = r.node.Run.Config
	r.state().SetSource(r.node.Run.UserData)
	return r, nil
}

// repeatsUpgrade reports whether the user data of this run is that of the unfinished upgrade: the command is then
// repeated in order to resume it.
func repeatsUpgrade(ctx context.Context, options Options, state joinstate.State) (bool, error) {
	requested, err := request.Read(ctx, options.Options, state, request.UserDataOptional)
	if err != nil || requested.UserData == nil {
		return false, err
	}
	digest, err := requested.UserData.Digest()
	if err != nil {
		return false, err
	}
	next, err := joinstate.LoadGeneration(options.StateDir, joinstate.NextFile)
	return next != nil && next.PayloadSourceDigest == digest, err
}

// checkUpgradable fails if the host is not a node that an upgrade can change.
func checkUpgradable(state joinstate.State, options Options) error {
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

// installGeneration makes the generation of an unfinished upgrade the current one, and reads its request.
func (r *run) installGeneration(ctx context.Context) error {
	if err := joinstate.InstallUpgrade(r.node.Run.Dir, r.state()); err != nil {
		return err
	}
	var err error
	r.node.Run.Request, err = request.Read(ctx, request.Options{
		Config: r.state().Config, Resume: true, StateDir: r.node.Run.Dir,
	}, *r.state(), request.UserDataOptional)
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

// commit records durably that the upgrade changes the host from here on, how its changes take
// effect, and the generations before and after. An interrupted upgrade is then resumed.
func (r *run) commit(required effects.Effects) error {
	if u := r.state().Upgrade; u != nil {
		u.Effects = u.Effects.Merge(required)
		return joinstate.Write(r.node.Run.Dir, *r.state())
	}
	next, err := r.newGeneration()
	if err != nil {
		return err
	}
	stored, err := joinstate.LoadSoftware(r.node.Run.Dir)
	if err != nil {
		return err
	}
	begun, err := joinstate.BeginUpgrade(r.node.Run.Dir, next, joinstate.Upgrade{
		Started: time.Now().UTC(),
		From:    releaseOf(stored),
		To:      releaseOf(r.node.Software.Contents),
		Effects: required,
		Drain:   !r.options.NoDrain,
	})
	if err != nil {
		return err
	}
	r.state().Upgrade = begun
	return joinstate.InstallUpgrade(r.node.Run.Dir, r.state())
}

// releaseOf returns the release of software, or "" if it is unknown.
func releaseOf(contents *software.Contents) string {
	if contents == nil || contents.Release.IsZero() {
		return ""
	}
	return contents.Release.String()
}

// newGeneration returns the generation of the fetched payload.
func (r *run) newGeneration() (joinstate.Generation, error) {
	next := joinstate.NewGeneration(*r.state(), map[string][]byte{joinstate.PayloadFile: r.node.Loaded.Payload.Raw})
	err := next.SetOverrides(r.node.Loaded.Overrides)
	if err == nil && r.node.Software.Contents != nil {
		err = next.SetSoftware(*r.node.Software.Contents)
	}
	return next, err
}
