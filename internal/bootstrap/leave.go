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

// LeaveDocument is what a leave did.
type LeaveDocument struct {
	report.TypeMeta
	NodeName    string              `json:"nodeName,omitempty"`
	Restored    int                 `json:"restored"`
	Removed     []string            `json:"removed,omitempty"`     // paths that kubelet, CRI-O and pods had created
	Kept        []ledger.Difference `json:"kept,omitempty"`        // changed or created by others since the join
	NotRestored []string            `json:"notRestored,omitempty"` // what cannot be given back, in words
	Next        string              `json:"next,omitempty"`        // the command that deletes the Node object
}

// LeaveSteps lists the steps of a leave in their order.
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

// LeaveOptions are what a leave is told.
type LeaveOptions struct {
	Options
	Evict bool // move the pods away first
	Purge bool // remove files, too, that others than the cluster can have created
	// FirstBoot is where the host would find what to join with again.
	FirstBoot FirstBoot
}

// Leave gives the host back as it was before the join.
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
	// The removal of the stub can have started the service once more.
	if err := j.endService(ctx); err != nil {
		report.Log{Sink: j.sink, Step: "leave"}.Warn(err.Error(), "systemctl stop "+serviceUnit)
	}
	return document, nil
}

// leave records the leave durably, runs its steps, and removes the agent's
// records. The record of the leave is the last to go: until then the next boot
// neither joins again nor takes the host for a node.
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

// forget removes the agent's own records durably, once all is given back. The
// state goes last: it is what makes the next run remove the others.
func (j *join) forget() error {
	if err := j.ledger.Forget(); err != nil {
		return err
	}
	if err := drop(j.dir, keyDir, payloadFile, overridesFile, stubFile, ticketFile, bridgeFile); err != nil {
		return err
	}
	return drop(j.dir, stateFile)
}

// drainTime bounds how long a leave waits for pods to go.
const drainTime = 5 * time.Minute

// drain cordons the node and evicts its pods with the node's own credential.
// A cluster that does not answer does not keep a host from leaving it.
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

// withoutDrain adds how to go on when pods cannot be moved away.
func withoutDrain(err error) error {
	remedy := report.RemedyOf(err)
	if remedy != "" {
		remedy += "\n"
	}
	return report.Fail(report.CodeOf(err), remedy+"hcp-node-agent leave --no-drain # goes on and ends the pods where they are", "%w", err)
}

// stopNode stops kubelet, then every container that it started.
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
	// kubelet's cgroups are slices that systemd keeps by themselves.
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

// undo gives everything back that the ledger holds.
func undo(document *LeaveDocument) func(context.Context, *join, report.Log) (outcome, error) {
	return func(ctx context.Context, j *join, log report.Log) (outcome, error) {
		j.bridge.Prepare(ovs.Migration{}, log, nil)
		services, err := ignition.ClusterDNS(j.tree)
		if err != nil {
			log.Note(err.Error()) // a leave does not depend on it
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
		if j.state.Known() { // in an earlier run, too, the undo can have removed CAs of the cluster
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

// goesOn adds to what mends a failed undo how to go on then. An interruption is
// nothing to mend.
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

// notRestored says what an undo leaves as it is on purpose.
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
