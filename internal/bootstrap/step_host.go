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

// ExternalDirs returns the directories to which only kubelet, CRI-O and the
// cluster's pods write. Their original contents are recorded, so that leave can
// remove what was added, including credentials of the cluster.
//
// /etc/cni/multus and /etc/cni/tuning belong to Multus (hostPath volumes of
// cluster-network-operator's multus.yaml), the directories of OVN to ovnkube-node,
// and /run/ofport_requests.br-ex to the payload's 10-ofport-request.sh.
func ExternalDirs() []string {
	return []string{
		"/var/lib/kubelet", "/var/log/pods", "/var/log/containers", "/var/log/crio", "/var/lib/crio",
		"/etc/cni/multus", "/etc/cni/tuning", "/var/lib/cni", "/run/multus", "/var/lib/ovnk", "/run/nodeip-configuration",
		"/var/lib/ovn-ic", "/var/lib/ovn", "/etc/ovn", "/var/log/ovn", "/var/log/ovn-kubernetes",
		"/run/ovn-ic", "/run/ovn", "/run/ovn-kubernetes", "/run/ofport_requests.br-ex",
		"/etc/crio/policies", "/etc/node-sizing.env", "/etc/node-sizing-version.json",
		"/etc/openshift/kubelet.conf.d/20-auto-sizing.conf",
	}
}

// SharedDirs returns the directories in which the cluster creates directories and
// administrators create files: podman networks, CRI-O hooks, kubelet drop-ins.
func SharedDirs() []string {
	return []string{"/etc/cni", "/etc/containers/oci", "/etc/openshift"}
}

// PluginDirs returns the directories into which pods, and possibly
// administrators, install plugins. If a directory contained files before the join,
// the origin of new files cannot be determined. Otherwise they belong to the node.
func PluginDirs() []string {
	return []string{
		"/opt/cni", "/etc/kubernetes/cni", "/etc/kubernetes/kubelet-plugins", "/etc/kubernetes/static-pod-resources",
	}
}

// writeFiles creates the payload's files, directories, links and unit files.
func writeFiles(ctx context.Context, j *Builder, _ report.Log) (Outcome, error) {
	if !slices.ContainsFunc(j.Ledger.Items(), func(item ledger.Item) bool { return item.Kind == ledger.Interfaces }) {
		there := ledger.State{Present: true}
		brackets := []ledger.Change{
			{Kind: ledger.Interfaces, Target: "all", Reason: "CNI plugins add to them", Desired: there},
			{Kind: crio.StorageKind, Target: crio.StorageDir, Reason: "CRI-O keeps its images there", Desired: there},
		}
		for _, dir := range SharedDirs() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.SharedContents, Target: dir, Reason: "CRI-O and pods write there, and people", Desired: there,
			})
		}
		for _, dir := range ExternalDirs() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.Contents, Target: dir, Reason: "kubelet, CRI-O and pods write there", Desired: there,
			})
		}
		plugins, err := j.pluginSnapshots()
		if err != nil {
			return Outcome{}, err
		}
		if _, err := j.Ledger.TrackExternal(ctx, "files", slices.Concat(plugins, brackets, j.Plan.Snapshots)...); err != nil {
			return Outcome{}, err
		}
	}
	owners, err := j.createAccounts(ctx)
	if err != nil {
		return Outcome{}, err
	}
	made, err := j.Ledger.Apply(ctx, "files", j.Plan.Files)
	if err != nil {
		return Outcome{}, err
	}
	if made = append(owners, made...); len(made) == 0 {
		return Unchanged("%d files, directories and links are as they should be", len(j.Plan.Files))
	}
	return Changed("%d changes, %d of them replace something", len(made), countReplaced(made))
}

// createAccounts creates the plan's groups, users and keys. It then adapts the
// payload again, because the numeric IDs of file owners are known only after the
// accounts exist.
func (j *Builder) createAccounts(ctx context.Context) ([]ledger.PlannedChange, error) {
	if len(j.Plan.Accounts.Users)+len(j.Plan.Accounts.Groups) == 0 {
		return nil, nil
	}
	made, err := accounts.Apply(ctx, j.Ledger, "files", j.Accounts())
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return made, j.AdaptPayload(ctx)
}

func (j *Builder) Accounts() accounts.Input {
	return accounts.Input{Passwd: j.Plan.Accounts, Tree: j.Tree, Live: true, Items: j.Ledger.Items()}
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
func configureSystem(ctx context.Context, j *Builder, _ report.Log) (Outcome, error) {
	kernel, err := j.Ledger.Apply(ctx, "host", append(j.Plan.Modules, j.Plan.Sysctls...))
	if err != nil {
		return Outcome{}, err
	}
	if err := j.Systemd.Reload(ctx); err != nil {
		return Outcome{}, err
	}
	if err := j.updateTrustIfNeeded(ctx); err != nil {
		return Outcome{}, err
	}
	units, err := j.Ledger.Apply(ctx, "host", j.Plan.Units)
	if err != nil {
		return Outcome{}, err
	}
	summary := fmt.Sprintf("%d kernel parameters, %d modules, %d units", len(j.Plan.Sysctls), len(j.Plan.Modules), len(j.Plan.Units))
	if len(kernel)+len(units) == 0 {
		return Unchanged("%s are as they should be", summary)
	}
	return Changed("%s", summary)
}

// updateTrustIfNeeded updates the trust store if the payload contains a CA for it.
// A payload without additional CAs contains an empty file.
func (j *Builder) updateTrustIfNeeded(ctx context.Context) error {
	hasCA := func(c ledger.Change) bool { return path.Dir(c.Target) == crio.TrustAnchorsDir && c.Desired.Size > 0 }
	if !slices.ContainsFunc(j.Plan.Files, hasCA) {
		return nil
	}
	return UpdateTrustStore(ctx)
}

// UpdateTrustStore updates the trust store from the CAs on this host if
// update-ca-trust is installed.
func UpdateTrustStore(ctx context.Context) error {
	if !command.Exists("update-ca-trust") {
		return nil
	}
	_, err := command.Run(ctx, "update-ca-trust")
	return err
}
