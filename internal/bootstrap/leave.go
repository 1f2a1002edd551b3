package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
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
		{Name: "drain", Description: "move the pods away", run: drain},
		{Name: "stop", Description: "stop kubelet and its containers", run: stopNode},
		{Name: "unmount", Description: "unmount what kubelet left mounted", run: unmountVolumes},
		{Name: "undo", Description: "give the host back by the ledger, newest change first", run: undoStep(document)},
	}
	if !evict {
		return steps[1:]
	}
	return steps
}

// LeaveOptions configures Leave.
type LeaveOptions struct {
	Options
	Drain bool // drain the node first
	Purge bool // also remove files that may not have been created by the cluster
	// AutoJoin locates the files with which the host would join again.
	AutoJoin AutoJoin
}

// Leave restores the host to its state before the join.
func Leave(ctx context.Context, options LeaveOptions) (LeaveDocument, error) {
	document := LeaveDocument{TypeMeta: report.Meta("LeaveResult")}
	m, _, err := acquireLock(ctx, options.Options)
	if err != nil {
		return document, err
	}
	state, err := readState(options.StateDir)
	if err != nil {
		m.close()
		return document, err
	}
	j := &operation{config: options.Config, dir: options.StateDir, sink: options.Sink, state: state, localHost: m, name: state.NodeName}
	defer j.close()
	j.bridge.RollbackTimeout = time.Duration(state.Config.NetworkTimeout)
	j.sharedDriver.Purge = options.Purge
	document.NodeName = state.NodeName
	if err := j.runLeave(ctx, leaveSteps(&document, options.Drain), options.AutoJoin); err != nil {
		return document, err
	}
	if state.NodeName != "" && state.LastStep != "" {
		document.Next = node.DeleteCommand(state.NodeName)
	}
	// The removal of the user data may have started the service again.
	if err := j.stopService(ctx); err != nil {
		report.Log{Sink: j.sink, Step: "leave"}.Warn(err.Error(), "systemctl stop "+serviceUnit)
	}
	return document, nil
}

// runLeave records the leave durably, runs its steps, and removes the agent's
// records. The record of the leave is removed last. Until then the next boot
// neither joins again nor treats the host as a node.
func (j *operation) runLeave(ctx context.Context, steps []Step, firstBoot AutoJoin) error {
	j.emit(report.Event{Kind: report.Headline, Message: j.leaveHeadline()})
	if j.state.Exists() && j.state.Leaving.IsZero() {
		j.state.Leaving = time.Now().UTC()
		if err := writeState(j.dir, j.state); err != nil {
			return err
		}
	}
	if _, err := j.runSteps(ctx, steps); err != nil {
		return err
	}
	firstBoot.removeAfterLeave(j.state, report.Log{Sink: j.sink, Step: "leave"})
	return j.removeRecords()
}

func (j *operation) leaveHeadline() string {
	if j.state.NodePool == "" {
		return "giving this host back as it was"
	}
	return fmt.Sprintf("%s leaves NodePool %s", j.state.NodeName, j.state.NodePool)
}

// removeRecords removes the agent's own records durably after the host is restored.
// The state is removed last, because the next run uses it to remove the other
// records.
func (j *operation) removeRecords() error {
	if err := j.ledger.Remove(); err != nil {
		return err
	}
	if err := removeFiles(j.dir, keyDir, payloadFile, overridesFile, userDataFile, joinTokenFile, bridgeRecordFile); err != nil {
		return err
	}
	return removeFiles(j.dir, stateFile)
}

// drainTimeout is the maximum time a leave waits for pods to terminate.
const drainTimeout = 5 * time.Minute

// drain cordons the node and evicts its pods with the node's own credential. If the
// cluster is unreachable, drain fails after drainTimeout and its remedy names
// --no-drain.
func drain(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	there, err := j.tree.Exists(identity.KubeconfigPath)
	if err != nil {
		return outcome{}, err
	}
	if !there || j.name == "" {
		return unchanged("this host has no credential of a node")
	}
	node, err := node.OpenNode(identity.KubeconfigPath, j.name, nil, log)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := node.Cordon(ctx); err != nil {
		return outcome{}, suggestNoDrain(err)
	}
	if err := node.Evict(ctx, false); err != nil {
		return outcome{}, suggestNoDrain(err)
	}
	return changed("the Node is cordoned and its pods have moved away")
}

// suggestNoDrain adds the command that leaves without a drain to the remedy of err.
func suggestNoDrain(err error) error {
	remedy := report.RemedyOf(err)
	if remedy != "" {
		remedy += "\n"
	}
	return report.Fail(report.CodeOf(err), remedy+"hcp-node-agent leave --no-drain # goes on and ends the pods where they are", "%w", err)
}

// stopNode stops the service, kubelet and all containers that kubelet started.
func stopNode(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	if j.systemd == nil {
		return outcome{}, j.systemdErr
	}
	if err := j.stopService(ctx); err != nil {
		return outcome{}, err
	}
	state, err := j.systemd.UnitState(ctx, kubelet.UnitName)
	if err != nil {
		return outcome{}, err
	}
	if state.Load == "loaded" && state.Active != "inactive" {
		if err := j.systemd.Stop(ctx, kubelet.UnitName); err != nil {
			return outcome{}, err
		}
	}
	restart := func(ctx context.Context) error { return j.systemd.Restart(ctx, "crio.service") }
	stopped, err := crio.StopPods(ctx, cri.Socket, restart, log)
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

func unmountVolumes(ctx context.Context, j *operation, _ report.Log) (outcome, error) {
	var all []string
	for _, dir := range slices.Concat(externalDirs(), pluginDirectories(), []string{crio.StorageDir}) {
		gone, err := kubelet.Unmount(ctx, j.tree, dir)
		if err != nil {
			return outcome{}, err
		}
		all = append(all, gone...)
	}
	if len(all) == 0 {
		return unchanged("nothing was left mounted")
	}
	return changed("%d file systems were unmounted", len(all))
}

// undoStep returns the step that reverts all changes in the ledger.
func undoStep(document *LeaveDocument) func(context.Context, *operation, report.Log) (outcome, error) {
	return func(ctx context.Context, j *operation, log report.Log) (outcome, error) {
		j.bridge.Prepare(ovs.Migration{}, log, nil)
		services, err := ignition.ClusterDNS(j.tree)
		if err != nil {
			log.Note(err.Error()) // the leave does not depend on cluster DNS
		}
		j.plugin.Prepare(log, services)
		found, err := j.findAddedPaths(j.ledger.Items())
		if err != nil {
			return outcome{}, err
		}
		result, err := j.ledger.Undo(ctx)
		document.Restored, document.Kept = len(result.Restored), result.Kept
		document.NotRestored = j.notRestored(result.Restored)
		for _, kept := range result.Kept {
			log.Warn(kept.KeptMessage(), "")
		}
		err = errors.Join(err, j.reportAddedPaths(document, found, log))
		for _, text := range document.NotRestored {
			log.Note(text)
		}
		if j.systemd != nil {
			err = errors.Join(err, j.systemd.Reload(ctx))
		}
		if j.state.Exists() { // even an earlier run of the undo may have removed CAs of the cluster
			err = errors.Join(err, updateTrustStore(ctx))
		}
		if err != nil {
			return outcome{}, withResumeHint(ctx, err)
		}
		if len(result.Restored) == 0 {
			return unchanged("there was nothing to give back")
		}
		return changed("%d things are as they were", len(result.Restored))
	}
}

// withResumeHint adds the command that resumes the leave to the remedy of err. It
// returns err unchanged if ctx has ended, because an interruption needs no repair.
func withResumeHint(ctx context.Context, err error) error {
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
func (j *operation) notRestored(items []ledger.Item) []string {
	var modules, texts []string
	for _, item := range items {
		switch {
		case item.Kind == ledger.Module && !item.Before.Present:
			modules = append(modules, item.Target)
		case item.Kind == packages.TransactionKind:
			if left := packages.RemovalHint(item); left != "" {
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
