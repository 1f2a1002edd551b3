// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Document is the result of a leave.
type Document struct {
	report.TypeMeta
	NodeName        string                       `json:"nodeName,omitempty" doc:"name of the Node"`
	Restored        int                          `json:"restored" doc:"number of changes that were reverted"`
	Removed         []string                     `json:"removed,omitempty" doc:"removed paths of kubelet, CRI-O and pods"`
	Kept            []ledger.PublishedDifference `json:"kept,omitempty" doc:"objects that others changed or created, and objects of a host that the agent did not join"`
	NotRestored     []string                     `json:"notRestored,omitempty" doc:"what cannot be reverted, as messages"`
	RemovedImages   []string                     `json:"removedImages,omitempty" doc:"container images, with --purge"`
	RemovedPackages []string                     `json:"removedPackages,omitempty" doc:"packages, with --purge"`
	NodeDeleted     bool                         `json:"nodeDeleted" doc:"whether the Node was deleted"`
	Next            string                       `json:"next,omitempty" doc:"command to delete the Node, if it remains"`
	report.CommandResult
}

// Flow is one leave.
type Flow struct {
	Machine     *machine.Machine
	State       joinstate.State
	Dir         string                    // of the agent's records
	Adoption    *joinstate.AdoptionRecord // nil if the agent has joined the host itself
	Purge       bool                      // remove what the undo keeps because others may use it
	PackageHost dnf.Host                  // where packages are removed: this host, except in tests
	Sink        report.Sink
}

// leaveSteps returns the steps of a leave in order.
func leaveSteps(document *Document, o Options, adopted bool) []steps.Step[*Flow] {
	selected := map[string]bool{
		"drain": o.Drain, "image": o.RestoreImage, "images": o.Purge, "cluster-files": adopted, "packages": o.Purge,
	}
	all := []steps.Step[*Flow]{
		{Name: "drain", Description: "drain the node", Run: drain},
		{Name: "image", Description: "stage the first image of this host", Run: restoreImage(document)},
		{Name: "stop", Description: "stop kubelet and all pods", Run: stopNode},
		{Name: "images", Description: "remove images that were pulled since the join", Run: purgeImages(document)},
		{Name: "unmount", Description: "unmount remaining volumes of kubelet", Run: unmountVolumes},
		{Name: "undo", Description: "revert all recorded changes, newest first", Run: undoStep(document)},
		{
			Name: "cluster-files", Description: "remove other files of the cluster from a host that the agent did not join",
			Run: removeClusterFiles(document),
		},
		{Name: "packages", Description: "remove packages that the agent installed", Run: purgePackages(document)},
	}
	return slices.DeleteFunc(all, func(step steps.Step[*Flow]) bool {
		isSelected, isOptional := selected[step.Name]
		return isOptional && !isSelected
	})
}

// Options configures Run.
type Options struct {
	request.Options
	Drain bool // drain the node first
	// Purge also removes the packages that the agent installed, the images that were pulled since the
	// join, and files that others may have created.
	Purge bool
	// RestoreImage makes the host boot the image that it ran before the agent booted another one.
	RestoreImage bool
	// DeleteNode is the kubeconfig to delete the Node with; nil keeps the Node.
	DeleteNode []byte
	// AutoJoin locates the files with which the host would join again.
	AutoJoin autojoin.Files
}

// Run restores the host to its state before the join.
func Run(ctx context.Context, options Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("LeaveResult")}
	m, _, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return document, err
	}
	defer m.Close()
	state, err := joinstate.Read(options.StateDir)
	if err != nil {
		return document, err
	}
	log := report.Log{Sink: options.Sink, Step: "leave"}
	adopting, err := joinstate.IsAdopting(options.StateDir, state)
	if err != nil {
		return document, err
	}
	if adopting {
		return document, discardAdoption(m, options.StateDir, log)
	}
	adoption, err := joinstate.LoadAdoption(options.StateDir)
	if err != nil {
		return document, err
	}
	if options.Purge {
		if _, _, err := joinstate.LoadPurge(options.StateDir); err != nil {
			return document, err
		}
	}
	if options.RestoreImage {
		if _, err := firstImage(options.StateDir); err != nil {
			return document, err
		}
	}
	if m.Systemd != nil { // otherwise a step fails
		unit, err := m.Systemd.UnitState(ctx, kubelet.UnitName)
		if err == nil {
			err = checkNotForeign(state, m.Ledger.Items(), unit)
		}
		if err != nil {
			return document, err
		}
	}
	f := &Flow{
		Machine: m, State: state, Dir: options.StateDir, Adoption: adoption, Sink: options.Sink, Purge: options.Purge,
	}
	m.Bridge.RollbackTimeout = time.Duration(state.Config.NetworkTimeout)
	m.SharedContents.Purge = options.Purge
	document.NodeName = state.NodeName
	deleter, err := openDeleter(ctx, options.DeleteNode, state, contactTimeout, log)
	if err != nil {
		return document, err
	}
	if err := f.Run(ctx, leaveSteps(&document, options, adoption != nil), options.AutoJoin); err != nil {
		return document, err
	}
	// The removal of the user data may have started the service again.
	if err := f.Machine.StopService(ctx); err != nil {
		log.Warn(err.Error(), "systemctl stop "+machine.ServiceUnit)
	}
	if state.NodeName != "" && state.LastStep != "" {
		document.Next = node.DeleteCommand(state.NodeName)
	}
	if deleter != nil {
		contact, cancel := context.WithTimeout(ctx, contactTimeout)
		defer cancel()
		if err := deleter.Delete(contact); err != nil {
			return document, report.Fail(report.CodeOf(err), report.Remedy(document.Next),
				"the host was removed from the cluster, but %w", err)
		}
		document.NodeDeleted, document.Next = true, ""
	}
	return document, nil
}

// openDeleter returns a Deleter for the Node of the join, nil if none was requested or
// the join registered none. It fails before anything is changed, after timeout if the
// cluster is unreachable.
func openDeleter(
	ctx context.Context, kubeconfig []byte, state joinstate.State, timeout time.Duration, log report.Log,
) (*node.Deleter, error) {
	if kubeconfig == nil || state.NodeName == "" {
		return nil, nil
	}
	contact, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	deleter, err := node.OpenDeleter(contact, kubeconfig, state.NodeName, state.MachineID, log)
	if err != nil && contact.Err() != nil && ctx.Err() == nil {
		return nil, report.Fail(report.CodeOf(err),
			"hcp-node-agent leave # without --delete-node does not need the cluster", "nothing was changed: %w", err)
	}
	return deleter, err
}

// Run records the leave durably, runs its steps, and removes the agent's
// records. The record of the leave is removed last. Until then the next boot
// neither joins again nor treats the host as a node.
func (f *Flow) Run(ctx context.Context, list []steps.Step[*Flow], firstBoot autojoin.Files) error {
	headline := "restoring this host to its state before the join"
	if f.State.NodePool != "" {
		headline = fmt.Sprintf("removing %s from NodePool %s", f.State.NodeName, f.State.NodePool)
	}
	report.Log{Sink: f.Sink}.Headline(headline)
	if f.State.Exists() && f.State.Leaving.IsZero() {
		f.State.Leaving = time.Now().UTC()
		if err := joinstate.Write(f.Dir, f.State); err != nil {
			return err
		}
	}
	if f.Purge {
		if err := f.recordPurge(); err != nil {
			return err
		}
	}
	if _, err := steps.Run(ctx, steps.Runner{Sink: f.Sink, Ledger: f.Machine.Ledger}, list, f); err != nil {
		return err
	}
	firstBoot.RemoveAfterLeave(f.State, report.Log{Sink: f.Sink, Step: "leave"})
	return f.Machine.RemoveRecords(f.Dir)
}

// stopNode stops the service, kubelet and all containers that kubelet started.
func stopNode(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
	systemd := f.Machine.Systemd
	if systemd == nil {
		return steps.Outcome{}, f.Machine.SystemdErr
	}
	stop := func(unit string) error {
		state, err := systemd.UnitState(ctx, unit)
		if err != nil || state.Load != "loaded" || state.Active == "inactive" {
			return err
		}
		return systemd.Stop(ctx, unit)
	}
	if err := f.Machine.StopService(ctx); err != nil {
		return steps.Outcome{}, err
	}
	if err := stop(kubelet.UnitName); err != nil {
		return steps.Outcome{}, err
	}
	restart := func(ctx context.Context) error { return systemd.Restart(ctx, crio.Unit) }
	stopped, err := crio.StopPods(ctx, cri.Socket, restart, log)
	if err == nil {
		err = stop("kubepods.slice") // of the cgroups, which systemd does not stop together with kubelet
	}
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Changed("kubelet stopped, pods removed: %d", stopped)
}

func unmountVolumes(ctx context.Context, f *Flow, _ report.Log) (steps.Outcome, error) {
	count := 0
	for _, dir := range slices.Concat(machine.ClusterDirs(), machine.PluginDirs(), []string{crio.StorageDir}) {
		gone, err := kubelet.Unmount(ctx, f.Machine.Tree, dir)
		if err != nil {
			return steps.Outcome{}, err
		}
		count += len(gone)
	}
	if count == 0 {
		return steps.Unchanged("no file systems to unmount")
	}
	return steps.Changed("unmounted file systems: %d", count)
}
