// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// staticPodDir returns the change that creates the directory of static pods.
// kubelet creates it if the payload has no static pods, as on a standalone cluster,
// and a leave would not remove it.
func staticPodDir() ledger.Change {
	return ledger.Change{
		Kind: ledger.Directory, Target: "/etc/kubernetes/manifests", Reason: "kubelet's directory of static pods",
		Desired: ledger.State{Present: true},
	}
}

// startKubelet enables kubelet and starts it, or restarts it if one of its inputs
// has changed. Then it waits until kubelet reports that it is healthy.
func startKubelet(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	// systemd must have read the drop-in with the address before kubelet starts.
	if err := j.Host.ReloadUnits(ctx); err != nil {
		return steps.Outcome{}, err
	}
	enabled, err := j.Host.Ledger.Apply(ctx, steps.Kubelet,
		slices.Concat([]ledger.Change{staticPodDir()}, j.Plan.Kubelet, lists.Map(j.Plan.StartUnits, runningUnit)))
	if err != nil {
		return steps.Outcome{}, err
	}
	action, err := machine.RequiredAction(ctx, j.Host.Systemd, j.Host.Tree, systemd.KubeletUnit)
	if err != nil {
		return steps.Outcome{}, err
	}
	if action == systemd.NoAction && nodeDeleted(ctx, j.Run.State, identity.KubeconfigPath) {
		log.Note("Node " + j.Run.State.NodeName + " was deleted from the cluster; restarting kubelet to register it again")
		action = systemd.RestartNeeded
	}
	// A kubelet that has started with an expired certificate waits for its own CSR.
	if action == systemd.NoAction &&
		(j.newCertificate || j.Run.State.Upgrade.Requires(effects.Restart, systemd.KubeletUnit)) {
		action = systemd.RestartNeeded
	}
	if j.Host.Facts.Capabilities().HasImage {
		if err := joinstate.ReleaseKubelet(j.Run.Dir); err != nil {
			return steps.Outcome{}, err
		}
	}
	if action != systemd.NoAction {
		log.Wait("waiting for kubelet to start", "")
		j.kubeletStarted = time.Now()
		if err := beginKubelet(ctx, j.Host.Systemd, action); err != nil {
			return steps.Outcome{}, j.diagnostics().ExplainStartFailure(ctx, kubelet.UnitName, err)
		}
	}
	if err := node.WaitHealthy(ctx, node.HealthURL, j.diagnostics(), log); err != nil {
		return steps.Outcome{}, err
	}
	version := software.InstalledVersions(ctx).Kubelet
	restarted, err := restartStaticPods(ctx, j.Host.Tree, j.Run.State.NodeName)
	if err != nil {
		return steps.Outcome{}, err
	}
	if len(enabled) == 0 && action == systemd.NoAction && restarted == 0 {
		return steps.Unchanged("kubelet v%s is healthy", version)
	}
	return steps.Changed("kubelet v%s is healthy", version)
}

// restartStaticPods restarts the containers of static pods whose configuration has changed since they
// were created, and returns their number.
func restartStaticPods(ctx context.Context, tree *hostfs.Tree, nodeName string) (int, error) {
	n := 0
	for _, pod := range effects.StaticPods() {
		changed, err := tree.NewestChange(pod.Paths...)
		if err != nil {
			return n, err
		}
		stopped, err := cri.StopOlder(ctx, cri.Socket, pod.Namespace, pod.Name+"-"+nodeName, changed)
		if n += stopped; err != nil {
			return n, report.Fail(report.Failed, "journalctl -b -u crio --no-pager -n 50", "%w", err)
		}
	}
	return n, nil
}

// nodeDeleted reports whether the Node was Ready before and does not exist any
// more. If the API server does not respond, it returns false; a later step waits
// for the server.
func nodeDeleted(ctx context.Context, state joinstate.State, kubeconfig string) bool {
	if !state.Registered {
		return false
	}
	client, err := node.OpenNode(kubeconfig, state.NodeName, nil, report.Log{})
	if err != nil {
		return false
	}
	exists, err := client.Exists(ctx)
	return err == nil && !exists
}

// beginKubelet starts kubelet without waiting for the systemd job, which waits for
// units that may be slow. kubelet's health endpoint reports readiness instead. The ledger does not record
// the start: leave stops kubelet before it restores the unit, which would then count as changed by others.
func beginKubelet(ctx context.Context, manager *systemd.Manager, action systemd.Action) error {
	if action == systemd.RestartNeeded {
		return manager.Restart(ctx, kubelet.UnitName)
	}
	return errors.Join(manager.ResetFailed(ctx, kubelet.UnitName), manager.StartNoWait(ctx, kubelet.UnitName))
}
