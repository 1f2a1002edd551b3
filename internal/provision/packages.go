// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Packages changes the packages of a host to those of a payload.
type Packages struct {
	Run      *plan.Run
	Host     *machine.Machine
	Software *plan.Software // of the payload
	DNF      dnf.Host       // where dnf installs packages
}

// Install installs packages with dnf and records the transaction in the
// ledger.
func (p Packages) Install(ctx context.Context, log report.Log, specs []string) error {
	change, err := (&software.Transactions{Host: p.DNF}).Change(ctx, specs)
	if err != nil {
		return err
	}
	done, err := p.Host.Ledger.TrackExternal(ctx, steps.Packages, change)
	if err != nil {
		return err
	}
	if err := software.Install(ctx, p.DNF, log, specs...); err != nil { // an upgrade has downloaded them before
		if ctx.Err() == nil {
			err = errors.Join(err, done())
		}
		return err
	}
	return done()
}

// RepairInterrupted installs packages again that an interrupted run of dnf has left damaged. It returns their names.
// Each run verifies them: the ledger never has the transaction as done, because its number is not known.
func (p Packages) RepairInterrupted(ctx context.Context, log report.Log) ([]string, error) {
	var repaired []string
	for _, item := range p.Host.Ledger.Items() {
		if item.Kind != software.TransactionKind || item.Done {
			continue
		}
		names, err := software.RepairInterrupted(ctx, p.DNF, log, item)
		if err != nil {
			return nil, err
		}
		repaired = append(repaired, names...)
	}
	return repaired, nil
}

// KeepVersions records the versions of packages that an upgrade replaces in the previous generation, so
// that a rollback installs exactly them. The OS image of the previous payload can have others.
func (p Packages) KeepVersions(replaced []software.Choice) error {
	if u := p.Run.State.Upgrade; u == nil || u.RollingBack != "" || u.SameGeneration || len(replaced) == 0 {
		return nil
	}
	previous, err := joinstate.LoadGeneration(p.Run.Dir, joinstate.PreviousFile)
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
	return previous.Save(p.Run.Dir, joinstate.PreviousFile)
}
