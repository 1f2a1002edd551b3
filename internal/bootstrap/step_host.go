package bootstrap

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// externalDirs returns the directories to which only kubelet, CRI-O and the
// cluster's pods write. Their original contents are recorded, so that leave can
// remove what was added, including credentials of the cluster.
//
// /etc/cni/multus and /etc/cni/tuning belong to Multus (hostPath volumes of
// cluster-network-operator's multus.yaml), the directories of OVN to ovnkube-node,
// and /run/ofport_requests.br-ex to the payload's 10-ofport-request.sh.
func externalDirs() []string {
	return []string{
		"/var/lib/kubelet", "/var/log/pods", "/var/log/containers", "/var/log/crio", "/var/lib/crio",
		"/etc/cni/multus", "/etc/cni/tuning", "/var/lib/cni", "/run/multus", "/var/lib/ovnk", "/run/nodeip-configuration",
		"/var/lib/ovn-ic", "/var/lib/ovn", "/etc/ovn", "/var/log/ovn", "/var/log/ovn-kubernetes",
		"/run/ovn-ic", "/run/ovn", "/run/ovn-kubernetes", "/run/ofport_requests.br-ex",
		"/etc/crio/policies", "/etc/node-sizing.env", "/etc/node-sizing-version.json",
		"/etc/openshift/kubelet.conf.d/20-auto-sizing.conf",
	}
}

// sharedDirs returns the directories in which the cluster creates directories and
// administrators create files: podman networks, CRI-O hooks, kubelet drop-ins.
func sharedDirs() []string {
	return []string{"/etc/cni", "/etc/containers/oci", "/etc/openshift"}
}

// pluginDirectories returns the directories into which pods, and possibly
// administrators, install plugins. If a directory contained files before the join,
// the origin of new files cannot be determined. Otherwise they belong to the node.
func pluginDirectories() []string {
	return []string{
		"/opt/cni", "/etc/kubernetes/cni", "/etc/kubernetes/kubelet-plugins", "/etc/kubernetes/static-pod-resources",
	}
}

// writeFiles creates the payload's files, directories, links and unit files.
func writeFiles(ctx context.Context, j *operation, _ report.Log) (outcome, error) {
	if !slices.ContainsFunc(j.ledger.Items(), func(item ledger.Item) bool { return item.Kind == ledger.Interfaces }) {
		there := ledger.State{Present: true}
		brackets := []ledger.Change{
			{Kind: ledger.Interfaces, Target: "all", Reason: "CNI plugins add to them", Desired: there},
			{Kind: crio.StorageKind, Target: crio.StorageDir, Reason: "CRI-O keeps its images there", Desired: there},
		}
		for _, dir := range sharedDirs() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.SharedContents, Target: dir, Reason: "CRI-O and pods write there, and people", Desired: there,
			})
		}
		for _, dir := range externalDirs() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.Contents, Target: dir, Reason: "kubelet, CRI-O and pods write there", Desired: there,
			})
		}
		plugins, err := j.pluginSnapshots()
		if err != nil {
			return outcome{}, err
		}
		if _, err := j.ledger.TrackExternal(ctx, "files", slices.Concat(plugins, brackets, j.plan.Snapshots)...); err != nil {
			return outcome{}, err
		}
	}
	owners, err := j.createAccounts(ctx)
	if err != nil {
		return outcome{}, err
	}
	made, err := j.ledger.Apply(ctx, "files", j.plan.Files)
	if err != nil {
		return outcome{}, err
	}
	if made = append(owners, made...); len(made) == 0 {
		return unchanged("%d files, directories and links are as they should be", len(j.plan.Files))
	}
	return changed("%d changes, %d of them replace something", len(made), countReplaced(made))
}

// createAccounts creates the plan's groups, users and keys. It then adapts the
// payload again, because the numeric IDs of file owners are known only after the
// accounts exist.
func (j *operation) createAccounts(ctx context.Context) ([]ledger.PlannedChange, error) {
	if len(j.plan.Accounts.Users)+len(j.plan.Accounts.Groups) == 0 {
		return nil, nil
	}
	made, err := accounts.Apply(ctx, j.ledger, "files", j.accounts())
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return made, j.adaptPayload(ctx)
}

func (j *operation) accounts() accounts.Input {
	return accounts.Input{Passwd: j.plan.Accounts, Tree: j.tree, Live: true, Items: j.ledger.Items()}
}

func countReplaced(made []ledger.PlannedChange) int {
	n := 0
	for _, p := range made {
		if p.Now.Present {
			n++
		}
	}
	return n
}

// configureSystem applies kernel modules and sysctls, updates the trust store, and
// enables and starts units.
func configureSystem(ctx context.Context, j *operation, _ report.Log) (outcome, error) {
	kernel, err := j.ledger.Apply(ctx, "host", append(j.plan.Modules, j.plan.Sysctls...))
	if err != nil {
		return outcome{}, err
	}
	if err := j.systemd.Reload(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.updateTrustIfNeeded(ctx); err != nil {
		return outcome{}, err
	}
	units, err := j.ledger.Apply(ctx, "host", j.plan.Units)
	if err != nil {
		return outcome{}, err
	}
	summary := fmt.Sprintf("%d kernel parameters, %d modules, %d units", len(j.plan.Sysctls), len(j.plan.Modules), len(j.plan.Units))
	if len(kernel)+len(units) == 0 {
		return unchanged("%s are as they should be", summary)
	}
	return changed("%s", summary)
}

// updateTrustIfNeeded updates the trust store if the payload contains a CA for it.
// A payload without additional CAs contains an empty file.
func (j *operation) updateTrustIfNeeded(ctx context.Context) error {
	hasCA := func(c ledger.Change) bool { return path.Dir(c.Target) == crio.TrustAnchorsDir && c.Desired.Size > 0 }
	if !slices.ContainsFunc(j.plan.Files, hasCA) {
		return nil
	}
	return updateTrustStore(ctx)
}

// updateTrustStore updates the trust store from the CAs on this host if
// update-ca-trust is installed.
func updateTrustStore(ctx context.Context) error {
	if !command.Exists("update-ca-trust") {
		return nil
	}
	_, err := command.Run(ctx, "update-ca-trust")
	return err
}
