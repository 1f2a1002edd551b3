package bootstrap

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// madeByOthers are the directories in which only kubelet, CRI-O and the cluster's
// pods write. What was in them before is recorded, so that leave can remove what
// came: credentials of the cluster among it.
//
// /etc/cni/multus and /etc/cni/tuning are Multus' (hostPath volumes of
// cluster-network-operator's multus.yaml).
func madeByOthers() []string {
	return []string{
		"/var/lib/kubelet", "/var/log/pods", "/var/log/containers", "/var/log/crio", "/var/lib/crio",
		"/etc/cni/multus", "/etc/cni/tuning", "/var/lib/cni", "/run/multus", "/var/lib/ovnk", "/run/nodeip-configuration",
		"/etc/crio/policies", "/etc/node-sizing.env", "/etc/node-sizing-version.json",
	}
}

// sharedWithPeople are the directories in which the cluster's programs make
// directories, and people put files: networks of podman, hooks of CRI-O.
func sharedWithPeople() []string { return []string{"/etc/cni", "/etc/containers/oci"} }

// pluginDirectories are the directories into which pods install plugins, and an
// administrator can do the same. Where one held files before the join, nobody can
// tell who made those that came; otherwise they belong to the node.
func pluginDirectories() []string {
	return []string{
		"/opt/cni", "/etc/kubernetes/cni", "/etc/kubernetes/kubelet-plugins", "/etc/kubernetes/static-pod-resources",
	}
}

// writeFiles makes the payload's files, directories, links and unit files.
func writeFiles(ctx context.Context, j *join, _ report.Log) (outcome, error) {
	if !slices.ContainsFunc(j.ledger.Items(), func(item ledger.Item) bool { return item.Kind == ledger.Interfaces }) {
		there := ledger.State{Present: true}
		brackets := []ledger.Change{
			{Kind: ledger.Interfaces, Target: "all", Why: "CNI plugins add to them", Want: there},
			{Kind: crio.StorageKind, Target: crio.Storage, Why: "CRI-O keeps its images there", Want: there},
		}
		for _, dir := range sharedWithPeople() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.Shared, Target: dir, Why: "CRI-O and pods write there, and people", Want: there,
			})
		}
		for _, dir := range madeByOthers() {
			brackets = append(brackets, ledger.Change{
				Kind: ledger.Contents, Target: dir, Why: "kubelet, CRI-O and pods write there", Want: there,
			})
		}
		plugins, err := j.pluginBrackets()
		if err != nil {
			return outcome{}, err
		}
		if _, err := j.ledger.Bracket(ctx, "files", slices.Concat(plugins, brackets)...); err != nil {
			return outcome{}, err
		}
	}
	owners, err := j.makeAccounts(ctx)
	if err != nil {
		return outcome{}, err
	}
	made, err := j.ledger.Apply(ctx, "files", j.plan.Files)
	if err != nil {
		return outcome{}, err
	}
	if made = append(owners, made...); len(made) == 0 {
		return same("%d files, directories and links are as they should be", len(j.plan.Files))
	}
	return changed("%d changes, %d of them replace something", len(made), replaced(made))
}

// makeAccounts makes the plan's groups, users and keys. Who owns a file can have
// his number only now, so that the plan is made once more.
func (j *join) makeAccounts(ctx context.Context) ([]ledger.Pending, error) {
	if len(j.plan.Accounts.Users)+len(j.plan.Accounts.Groups) == 0 {
		return nil, nil
	}
	made, err := accounts.Apply(ctx, j.ledger, "files", j.accounts())
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return made, j.adapt(ctx)
}

func (j *join) accounts() accounts.Input {
	return accounts.Input{Passwd: j.plan.Accounts, Tree: j.tree, Live: true, Items: j.ledger.Items()}
}

func replaced(made []ledger.Pending) int {
	n := 0
	for _, p := range made {
		if p.Now.Present {
			n++
		}
	}
	return n
}

// setUpHost brings kernel, trust store and units to what the files say.
func setUpHost(ctx context.Context, j *join, _ report.Log) (outcome, error) {
	kernel, err := j.ledger.Apply(ctx, "host", append(j.plan.Modules, j.plan.Sysctls...))
	if err != nil {
		return outcome{}, err
	}
	if err := j.systemd.Reload(ctx); err != nil {
		return outcome{}, err
	}
	if err := j.trust(ctx); err != nil {
		return outcome{}, err
	}
	units, err := j.ledger.Apply(ctx, "host", j.plan.Units)
	if err != nil {
		return outcome{}, err
	}
	summary := fmt.Sprintf("%d kernel parameters, %d modules, %d units", len(j.plan.Sysctls), len(j.plan.Modules), len(j.plan.Units))
	if len(kernel)+len(units) == 0 {
		return same("%s are as they should be", summary)
	}
	return changed("%s", summary)
}

// trust builds the trust store when the payload has a CA for it. A payload
// without additional CAs has an empty file for them.
func (j *join) trust(ctx context.Context) error {
	hasCA := func(c ledger.Change) bool { return path.Dir(c.Target) == crio.Anchors && c.Want.Size > 0 }
	if !slices.ContainsFunc(j.plan.Files, hasCA) {
		return nil
	}
	return updateTrust(ctx)
}

// updateTrust builds the trust store from the CAs on this host, where it is
// built by a program.
func updateTrust(ctx context.Context) error {
	if !host.HasProgram("update-ca-trust") {
		return nil
	}
	_, err := host.Run(ctx, "update-ca-trust")
	return err
}
