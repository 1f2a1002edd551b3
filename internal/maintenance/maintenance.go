// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Options configures Run.
type Options struct {
	request.Options
	NoUpdate     bool          // update no packages
	Reboot       bool          // reboot the host even if no update requires it
	DrainTimeout time.Duration // maximum time to evict the pods
}

// DefaultDrainTimeout is the default of Options.DrainTimeout.
const DefaultDrainTimeout = node.DefaultDrainTimeout

// flow is one run of a maintenance.
type flow struct {
	options    Options
	dir        string // of the agent's records
	machine    *machine.Machine
	state      joinstate.State
	record     *joinstate.Maintenance // nil until the maintenance changes the node
	updater    *software.Updater      // nil without dnf
	kubeconfig string
	work       work
}

// Run updates the packages of a joined node and reboots the host if an update requires it, or resumes an
// unfinished maintenance. If it fails before a package has changed, it uncordons the node. It reports
// whether anything changed.
func Run(ctx context.Context, options Options) (bool, error) {
	ctx, cancel := options.Config.WithTimeout(ctx)
	defer cancel()
	if err := checkStart(options); err != nil {
		return false, err
	}
	m, lock, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return false, err
	}
	changed := false
	f, err := open(ctx, m, options)
	if err == nil {
		changed, err = f.run(ctx)
	}
	m.Close()
	if lock.Stopped || err == nil {
		machine.StartService(context.WithoutCancel(ctx), options.Sink)
	}
	return changed, err
}

// checkStart fails if the host is no joined node, or another command is changing it. A run of the
// service waits instead, and an unfinished maintenance is taken over from the service.
func checkStart(options Options) error {
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return err
	}
	if err := cmp.Or(state.CheckHasJoined(), state.CheckNotUpgrading()); err != nil {
		return err
	}
	record, err := joinstate.ReadMaintenance(options.StateDir)
	if err != nil || record != nil || options.Service {
		return err
	}
	locked, err := ledger.IsLocked(options.StateDir)
	if locked {
		err = report.Fail(report.Refused, "hcp-node-agent status # shows its progress", "%w", ledger.ErrLocked)
	}
	return err
}

// open reads the records again while the host is locked.
func open(ctx context.Context, m *machine.Machine, options Options) (*flow, error) {
	if err := m.RequireSystemd(); err != nil {
		return nil, err
	}
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(state.CheckHasJoined(), state.CheckNotUpgrading(),
		joinstate.CheckMachineID(state, m.Facts.MachineID, options.StateDir)); err != nil {
		return nil, err
	}
	f := &flow{options: options, dir: options.StateDir, machine: m, state: state, kubeconfig: identity.KubeconfigPath}
	if f.record, err = joinstate.ReadMaintenance(f.dir); err != nil {
		return nil, err
	}
	if f.record != nil {
		f.record.Update = f.record.Update && !options.NoUpdate
		f.record.Reboot = f.record.Reboot || options.Reboot
	}
	if dnf.IsAvailable() && !m.Facts.Capabilities().HasImage {
		f.updater, err = software.NewUpdater(ctx, dnf.Host{})
	}
	return f, err
}

// run runs the steps.
func (f *flow) run(ctx context.Context) (bool, error) {
	log := report.Log{Sink: f.options.Sink}
	if f.record == nil && f.options.Service {
		return false, nil // another run has completed it
	}
	headline := "maintaining the operating system of "
	if f.record != nil {
		headline = "resuming the maintenance of "
	}
	log.Headline(headline + f.state.NodeName)
	runner := steps.Runner{Sink: f.options.Sink, Completed: f.completed}
	all := Steps()
	prepared, err := steps.Run(ctx, runner, all[:preparationSteps], f)
	if err != nil {
		return prepared, f.explain(err)
	}
	if f.record == nil && f.work.isNothing() {
		log.Headline(f.state.NodeName + " is up to date, there is nothing to do")
		return false, nil
	}
	if err := f.begin(ctx); err != nil {
		return prepared, err
	}
	changed, err := steps.Run(ctx, runner, all[preparationSteps:], f)
	if err != nil {
		return changed || prepared, f.explain(f.undo(ctx, err))
	}
	return changed || prepared, f.finish(log)
}

// begin records durably that the node is drained from here on. A resumed maintenance is recorded already.
func (f *flow) begin(ctx context.Context) error {
	if f.record != nil {
		return nil
	}
	last, err := f.lastTransaction(ctx)
	if err != nil {
		return err
	}
	f.record = &joinstate.Maintenance{
		Started:      time.Now().UTC(),
		Update:       len(f.work.updates) > 0,
		Reboot:       f.work.reboot,
		DrainTimeout: config.Duration(f.options.DrainTimeout),
		Transaction:  last,
	}
	return f.writeRecord()
}

// lastTransaction returns the number of dnf's last transaction, "" without dnf.
func (f *flow) lastTransaction(ctx context.Context) (string, error) {
	if f.updater == nil {
		return "", nil
	}
	return f.updater.LastTransaction(ctx)
}

// completed records a completed step.
func (f *flow) completed(name, _ string, _ time.Duration) error {
	if f.record == nil {
		return nil
	}
	f.record.Step = name
	return f.writeRecord()
}

// writeRecord writes the record durably.
func (f *flow) writeRecord() error { return joinstate.WriteMaintenance(f.dir, *f.record) }

// undoTimeout is the maximum time to uncordon the node after a failure.
const undoTimeout = time.Minute

// undo ends a maintenance that failed with cause before it has changed the host: it uncordons the node.
// Otherwise the service resumes the maintenance.
func (f *flow) undo(ctx context.Context, cause error) error {
	isStopped := f.options.Service && errors.Is(ctx.Err(), context.Canceled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	last, err := f.lastTransaction(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	if isStopped || hasChangedHost(*f.record, last) {
		return cause
	}
	log := report.Log{Sink: f.options.Sink, Step: "undo"}
	client, err := f.node(log)
	if err == nil {
		err = client.UndoCordon(ctx, node.ForMaintenance)
	}
	if err == nil {
		err = joinstate.RemoveFiles(f.dir, joinstate.MaintenanceFile)
	}
	if err != nil {
		return report.Fail(report.CodeOf(cause), report.RemedyOf(cause), "%w; the node remains cordoned: %w", cause, err)
	}
	f.record = nil
	log.Note("the host is unchanged; the cordon of the node is undone")
	return cause
}

// hasChangedHost reports whether a maintenance has changed packages or rebooted the host. last is dnf's
// last transaction: dnf adds one before it changes the first package.
func hasChangedHost(record joinstate.Maintenance, last string) bool {
	return record.Updated || record.RebootedFrom != "" || last != record.Transaction
}

// explain adds to an error how an unfinished maintenance continues.
func (f *flow) explain(err error) error {
	if f.record == nil || report.CodeOf(err) == report.RebootNeeded {
		return err
	}
	return report.AddRemedy(err, joinstate.ResumeMaintenance)
}

// finish removes the record and reports how long pods could not run.
func (f *flow) finish(log report.Log) error {
	if err := joinstate.RemoveFiles(f.dir, joinstate.MaintenanceFile); err != nil {
		return err
	}
	log.Headline(fmt.Sprintf("the maintenance of %s is complete; pods could not run for %s",
		f.state.NodeName, time.Since(f.record.Started).Round(time.Second)))
	return nil
}

// node returns this host's Node. A cordon by the administrator is no problem.
func (f *flow) node(log report.Log) (*node.Node, error) {
	client, err := nodecheck.OpenNode(f.kubeconfig, f.state, f.machine.Facts.BootID, f.machine.Systemd.Reader(), log)
	if err == nil {
		client.AllowCordon = true
	}
	return client, err
}
