package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// LeaveDocument is the result of a leave.
type LeaveDocument struct {
	report.TypeMeta
	NodeName    string              `json:"nodeName,omitempty"`
	Restored    int                 `json:"restored"`
	Removed     []string            `json:"removed,omitempty"`     // paths that kubelet, CRI-O and pods had created
	Kept        []ledger.Difference `json:"kept,omitempty"`        // changed or created by others since the join
	NotRestored []string            `json:"notRestored,omitempty"` // changes that cannot be reverted, as messages
	Next        string              `json:"next,omitempty"`        // command that deletes the Node object
}

// leaveSteps returns the steps of a leave in order.
func leaveSteps(document *LeaveDocument, evict bool) []Step {
	steps := []Step{
		{Name: "drain", Does: "move the pods away", run: drain},
		{Name: "stop", Does: "stop kubelet and its containers", run: stopNode},
		{Name: "unmount", Does: "unmount what kubelet left mounted", run: unmount},
		{Name: "undo", Does: "give the host back by the ledger, newest change first", run: undo(document)},
	}
	if !evict {
		return steps[1:]
	}
	return steps
}

// LeaveOptions configures Leave.
type LeaveOptions struct {
	Options
	Evict bool // drain the node first
	Purge bool // also remove files that may not have been created by the cluster
	// FirstBoot locates the files with which the host would join again.
	FirstBoot FirstBoot
}

// Leave restores the host to its state before the join.
func Leave(ctx context.Context, options LeaveOptions) (LeaveDocument, error) {
	document := LeaveDocument{TypeMeta: report.Meta("LeaveResult")}
	m, _, err := takeTurn(ctx, options.Options)
	if err != nil {
		return document, err
	}
	state, err := readState(options.StateDir)
	if err != nil {
		m.close()
		return document, err
	}
	j := &join{config: options.Config, dir: options.StateDir, sink: options.Sink, state: state, machine: m, name: state.NodeName}
	defer j.close()
	j.bridge.RollbackTimeout = time.Duration(state.Config.NetworkTimeout)
	j.shared.Purge = options.Purge
	document.NodeName = state.NodeName
	if err := j.leave(ctx, leaveSteps(&document, options.Evict), options.FirstBoot); err != nil {
		return document, err
	}
	if state.NodeName != "" && state.LastStep != "" {
		document.Next = kubelet.DeleteCommand(state.NodeName)
	}
	// The removal of the user data may have started the service again.
	if err := j.endService(ctx); err != nil {
		report.Log{Sink: j.sink, Step: "leave"}.Warn(err.Error(), "systemctl stop "+serviceUnit)
	}
	return document, nil
}

// leave records the leave durably, runs its steps, and removes the agent's
// records. The record of the leave is removed last. Until then the next boot
// neither joins again nor treats the host as a node.
func (j *join) leave(ctx context.Context, steps []Step, firstBoot FirstBoot) error {
	j.emit(report.Event{Kind: report.Headline, Message: j.leaving()})
	if j.state.Known() && j.state.Leaving.IsZero() {
		j.state.Leaving = time.Now().UTC()
		if err := writeState(j.dir, j.state); err != nil {
			return err
		}
	}
	if _, err := j.run(ctx, steps); err != nil {
		return err
	}
	firstBoot.clear(j.state, report.Log{Sink: j.sink, Step: "leave"})
	return j.forget()
}

func (j *join) leaving() string {
	if j.state.NodePool == "" {
		return "giving this host back as it was"
	}
	return fmt.Sprintf("%s leaves NodePool %s", j.state.NodeName, j.state.NodePool)
}

// forget removes the agent's own records durably after the host is restored.
// The state is removed last, because the next run uses it to remove the other
// records.
func (j *join) forget() error {
	if err := j.ledger.Forget(); err != nil {
		return err
	}
	if err := drop(j.dir, keyDir, payloadFile, overridesFile, stubFile, ticketFile, bridgeFile); err != nil {
		return err
	}
	return drop(j.dir, stateFile)
}

// drainTime is the maximum time a leave waits for pods to terminate.
const drainTime = 5 * time.Minute

// drain cordons the node and evicts its pods with the node's own credential. If the
// cluster is unreachable, drain fails after drainTimeout and its remedy names
// --no-drain.
func drain(ctx context.Context, j *join, log report.Log) (outcome, error) {
	there, err := j.tree.Exists(kubelet.KubeconfigPath)
	if err != nil {
		return outcome{}, err
	}
	if !there || j.name == "" {
		return same("this host has no credential of a node")
	}
	node, err := kubelet.OpenNode(kubelet.KubeconfigPath, j.name, nil, log)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := node.Cordon(ctx); err != nil {
		return outcome{}, withoutDrain(err)
	}
	if err := node.Evict(ctx, false); err != nil {
		return outcome{}, withoutDrain(err)
	}
	return changed("the Node is cordoned and its pods have moved away")
}

// withoutDrain adds the command that leaves without a drain to the remedy of err.
func withoutDrain(err error) error {
	remedy := report.RemedyOf(err)
	if remedy != "" {
		remedy += "\n"
	}
	return report.Fail(report.CodeOf(err), remedy+"hcp-node-agent leave --no-drain # goes on and ends the pods where they are", "%w", err)
}

// stopNode stops the service, kubelet and all containers that kubelet started.
func stopNode(ctx context.Context, j *join, log report.Log) (outcome, error) {
	if j.systemd == nil {
		return outcome{}, j.noBus
	}
	if err := j.endService(ctx); err != nil {
		return outcome{}, err
	}
	state, err := j.systemd.UnitState(ctx, kubelet.Unit)
	if err != nil {
		return outcome{}, err
	}
	if state.Load == "loaded" && state.Active != "inactive" {
		if err := j.systemd.Stop(ctx, kubelet.Unit); err != nil {
			return outcome{}, err
		}
	}
	restart := func(ctx context.Context) error { return j.systemd.Restart(ctx, "crio.service") }
	stopped, err := kubelet.StopPods(ctx, kubelet.CRIOSocket, restart, log)
	if err != nil {
		return outcome{}, err
	}
	// systemd does not stop the slices of kubelet's cgroups together with kubelet.
	slice, err := j.systemd.UnitState(ctx, "kubepods.slice")
	if err == nil && slice.Active == "active" {
		err = j.systemd.Stop(ctx, "kubepods.slice")
	}
	if err != nil {
		return outcome{}, err
	}
	return changed("kubelet is stopped, %d pods are gone", stopped)
}

func unmount(ctx context.Context, j *join, _ report.Log) (outcome, error) {
	var all []string
	for _, dir := range slices.Concat(madeByOthers(), pluginDirectories(), []string{crio.Storage}) {
		gone, err := kubelet.Unmount(ctx, j.tree, dir)
		if err != nil {
			return outcome{}, err
		}
		all = append(all, gone...)
	}
	if len(all) == 0 {
		return same("nothing was left mounted")
	}
	return changed("%d file systems were unmounted", len(all))
}

// undo returns the step that reverts all changes in the ledger.
func undo(document *LeaveDocument) func(context.Context, *join, report.Log) (outcome, error) {
	return func(ctx context.Context, j *join, log report.Log) (outcome, error) {
		j.bridge.Prepare(ovs.Migration{}, log, nil)
		services, err := ignition.ClusterDNS(j.tree)
		if err != nil {
			log.Note(err.Error()) // the leave does not depend on cluster DNS
		}
		j.plugin.Prepare(log, services)
		found, err := j.leftovers(j.ledger.Items())
		if err != nil {
			return outcome{}, err
		}
		result, err := j.ledger.Undo(ctx)
		document.Restored, document.Kept = len(result.Restored), result.Kept
		document.NotRestored = j.notRestored(result.Restored)
		for _, kept := range result.Kept {
			log.Warn(kept.Stays(), "")
		}
		err = errors.Join(err, j.reportLeftovers(document, found, log))
		for _, text := range document.NotRestored {
			log.Note(text)
		}
		if j.systemd != nil {
			err = errors.Join(err, j.systemd.Reload(ctx))
		}
		if j.state.Known() { // even an earlier run of the undo may have removed CAs of the cluster
			err = errors.Join(err, updateTrust(ctx))
		}
		if err != nil {
			return outcome{}, goesOn(ctx, err)
		}
		if len(result.Restored) == 0 {
			return same("there was nothing to give back")
		}
		return changed("%d things are as they were", len(result.Restored))
	}
}

// goesOn adds the command that resumes the leave to the remedy of err. It
// returns err unchanged if ctx has ended, because an interruption needs no repair.
func goesOn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	const again = "hcp-node-agent leave # goes on where this one ended"
	if mend := report.RemedyOf(err); mend != "" {
		return report.Fail(report.Failed, mend+"\n"+again, "%w", err)
	}
	return report.Fail(report.Failed, "# fix that, then:\n"+again, "%w", err)
}

// notRestored returns messages about changes that an undo does not revert by
// design.
func (j *join) notRestored(items []ledger.Item) []string {
	var modules, texts []string
	for _, item := range items {
		switch {
		case item.Kind == ledger.Module && !item.Before.Present:
			modules = append(modules, item.Target)
		case item.Kind == packages.Kind:
			if left := packages.Left(item); left != "" {
				texts = append(texts, left)
			}
		case item.Kind == crio.StorageKind:
			if left, err := j.tree.Exists(item.Target); err != nil || left {
				texts = append(texts, "images stay in "+item.Target+", which is not CRI-O's alone: \"podman image prune --all\" removes those that nothing uses")
			}
		}
	}
	if len(modules) > 0 {
		texts = append(texts, "kernel modules stay loaded until the next boot: "+strings.Join(modules, ", "))
	}
	return texts
}
