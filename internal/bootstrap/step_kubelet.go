package bootstrap

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// kubeletInputs returns the files and directories that kubelet reads when it
// starts.
func kubeletInputs() []string {
	return []string{
		"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kubelet-ca.crt", "/etc/openshift/kubelet.conf.d",
		"/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d", identity.KubeconfigPath,
	}
}

// staticPodDir returns the change that creates the directory of static pods.
// kubelet creates it if the payload has no static pods, as on a standalone cluster,
// and a leave would not remove it.
func staticPodDir() ledger.Change {
	return ledger.Change{
		Kind: ledger.Directory, Target: "/etc/kubernetes/manifests", Reason: "kubelet looks for static pods there", Desired: ledger.State{Present: true},
	}
}

// startKubelet enables kubelet and starts it, or restarts it if one of its inputs
// has changed. Then it waits until kubelet reports that it is healthy.
func startKubelet(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	// systemd must have read the drop-in with the address before kubelet starts.
	if err := j.systemd.Reload(ctx); err != nil {
		return outcome{}, err
	}
	enabled, err := j.ledger.Apply(ctx, "kubelet", slices.Concat([]ledger.Change{staticPodDir()}, j.plan.Kubelet, j.unitsToStart()))
	if err != nil {
		return outcome{}, err
	}
	action, err := j.serviceAction(ctx, kubelet.UnitName, kubeletInputs())
	if err != nil {
		return outcome{}, err
	}
	if action == crio.NoAction && j.nodeDeleted(ctx, identity.KubeconfigPath) {
		log.Note("Node " + j.name + " was deleted from the cluster; kubelet is restarted to register it again")
		action = crio.Restart
	}
	if action != crio.NoAction {
		log.Wait("for kubelet to start", "")
		if err := j.beginKubelet(ctx, action); err != nil {
			return outcome{}, j.diagnosticsHost().ExplainStartFailure(ctx, kubelet.UnitName, err)
		}
	}
	if err := node.WaitHealthy(ctx, node.HealthURL, j.diagnosticsHost(), log); err != nil {
		return outcome{}, err
	}
	version, err := command.Run(ctx, "kubelet", "--version")
	if err != nil {
		return outcome{}, err
	}
	if len(enabled) == 0 && action == crio.NoAction {
		return unchanged("kubelet %s is healthy", lastWord(version))
	}
	return changed("kubelet %s is healthy", lastWord(version))
}

// nodeDeleted reports whether the Node was Ready before and does not exist any
// more. If the API server does not respond, it returns false; a later step waits
// for the server.
func (j *operation) nodeDeleted(ctx context.Context, kubeconfig string) bool {
	if !j.state.Registered {
		return false
	}
	node, err := node.OpenNode(kubeconfig, j.name, nil, report.Log{})
	if err != nil {
		return false
	}
	exists, err := node.Exists(ctx)
	return err == nil && !exists
}

// beginKubelet starts kubelet without waiting for the systemd job, which waits for
// units that may be slow. kubelet's health endpoint reports readiness instead.
func (j *operation) beginKubelet(ctx context.Context, action crio.Action) error {
	wish := runningUnit(kubelet.UnitName)
	_, err := j.ledger.TrackExternal(ctx, "kubelet", wish)
	if err != nil {
		return err
	}
	if action == crio.Restart {
		return j.systemd.Restart(ctx, kubelet.UnitName)
	}
	return errors.Join(j.systemd.ResetFailed(ctx, kubelet.UnitName), j.systemd.StartNoWait(ctx, kubelet.UnitName))
}

// unitsToStart returns the changes that start those units of the payload that
// remain active and that a boot would have started. Without them static pods cannot
// reach the API server.
func (j *operation) unitsToStart() []ledger.Change {
	var changes []ledger.Change
	for _, name := range j.plan.StartUnits {
		changes = append(changes, runningUnit(name))
	}
	return changes
}

// awaitReady waits until the cluster reports the node Ready, and then removes the
// bootstrap credential from the host.
func awaitReady(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	node, err := j.nodeClient(log)
	if err != nil {
		return outcome{}, err
	}
	if err := node.WaitReady(ctx); err != nil {
		return outcome{}, err
	}
	j.state.Registered = true
	removed, err := j.removeBootstrapCredential(ctx)
	if err != nil {
		return outcome{}, err
	}
	if removed {
		return changed("the cluster reports %s Ready; the bootstrap credential is removed from it", j.name)
	}
	return unchanged("the cluster reports %s Ready", j.name)
}

// removeBootstrapCredential removes the bootstrap credential from a node of a
// hosted cluster. The credential is valid for a year and can request a client
// certificate for any node.
func (j *operation) removeBootstrapCredential(ctx context.Context) (bool, error) {
	if j.config.KeepBootstrap || !j.isHosted() || j.bootstrapKubeconfig() == nil {
		return false, nil
	}
	made, err := j.ledger.Apply(ctx, "ready", []ledger.Change{{
		Kind: ledger.File, Target: bootstrapKubeconfigPath, Reason: "the node has its own identity now",
	}})
	if err != nil {
		return false, err
	}
	return len(made) > 0, j.saveWithout(bootstrapKubeconfigPath)
}

// awaitSchedulable waits until no taint makes the node unschedulable.
func awaitSchedulable(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	node, err := j.nodeClient(log)
	if err != nil {
		return outcome{}, err
	}
	if err := node.WaitSchedulable(ctx); err != nil {
		return outcome{}, err
	}
	return unchanged("no taint keeps pods away from %s", j.name)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
