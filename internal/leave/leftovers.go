// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/othercluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PreviewLeftovers returns the files that RemoveLeftovers would remove. It changes nothing, and fails if they cannot be
// removed safely.
func PreviewLeftovers(ctx context.Context, options Options) (PreviewDocument, error) {
	document := PreviewDocument{
		TypeMeta: report.Meta("LeavePreview"), Steps: []string{}, Changes: []Change{}, Drift: ledger.Publish(nil),
	}
	m, err := machine.Open(ctx, options.StateDir, false)
	if err != nil {
		return document, err
	}
	defer m.Close()
	document.Leftovers, err = checkedLeftovers(ctx, m, options.StateDir)
	return document, err
}

// RemoveLeftovers removes the files of another cluster from a host that has no record of a join. They are not restored.
// It removes nothing while kubelet is active, or pods run.
func RemoveLeftovers(ctx context.Context, options Options) (Document, error) {
	document := Document{TypeMeta: report.Meta("LeaveResult")}
	m, _, err := machine.Acquire(ctx, options.StateDir, options.Sink, options.Service)
	if err != nil {
		return document, err
	}
	defer m.Close()
	found, err := checkedLeftovers(ctx, m, options.StateDir)
	if err != nil {
		return document, err
	}
	log := report.Log{Sink: options.Sink, Step: "leave"}
	for _, leftover := range found {
		log.Note("removing " + leftover.Path + " (" + leftover.What + ")")
	}
	document.Removed, err = othercluster.Remove(m.Tree, found)
	return document, err
}

// checkedLeftovers returns the files of another cluster. It fails if the agent has joined the host, or if the files are
// in use.
func checkedLeftovers(ctx context.Context, m *machine.Machine, stateDir string) ([]othercluster.Leftover, error) {
	state, err := joinstate.Read(stateDir)
	if err != nil {
		return nil, err
	}
	if state.Exists() || len(m.Ledger.Items()) > 0 {
		return nil, report.Fail(report.Refused, "hcp-node-agent leave", "this host has a record of a join: a leave without "+
			"--leftovers removes the files of its cluster")
	}
	if m.Facts.Capabilities().OwnsPayload {
		return nil, report.Fail(report.Refused, "# provision the host again", "the files of the cluster belong to the first "+
			"boot of %s", m.Facts.Capabilities().Name)
	}
	if !m.Facts.Root {
		return nil, report.Fail(report.Refused, "# rerun the command with sudo", "the command requires root privileges")
	}
	if err := m.RequireSystemd(); err != nil {
		return nil, err
	}
	use, err := getUse(ctx, m.Systemd, m.Tree)
	if err == nil {
		err = use.check()
	}
	if err != nil {
		return nil, err
	}
	found, err := othercluster.Find(ctx, m.Tree, othercluster.PackageOwners())
	if err != nil {
		return nil, err
	}
	return found, othercluster.Check(m.Tree, found)
}

// nodeUse describes how a host is used as a node.
type nodeUse struct {
	kubelet    systemd.UnitState
	containers int  // running containers of CRI-O
	runsPods   bool // also without CRI-O
}

// getUse returns how the host is used as a node.
func getUse(ctx context.Context, units systemd.Reader, tree hostfs.Reader) (nodeUse, error) {
	var use nodeUse
	var err error
	if use.kubelet, err = units.UnitState(ctx, kubelet.UnitName); err != nil {
		return use, err
	}
	runtime, err := units.UnitState(ctx, crio.Unit)
	if err != nil {
		return use, err
	}
	if runtime.Active == "active" {
		running, err := cri.RunningContainers(ctx, cri.Socket)
		if err != nil {
			return use, report.Fail(report.Failed, "systemctl status --no-pager crio", "%w", err)
		}
		use.containers = len(running)
	}
	use.runsPods, err = othercluster.RunsPods(tree)
	return use, err
}

// check fails while kubelet is active, or containers run.
func (u nodeUse) check() error {
	switch {
	case u.kubelet.Load == "loaded" && u.kubelet.Active != "inactive" && u.kubelet.Active != "failed":
		return report.Fail(report.Refused, "systemctl status --no-pager kubelet\n"+
			"# if this host must leave the other cluster: systemctl disable --now kubelet",
			"kubelet is %s, and uses the files of the other cluster", u.kubelet.Active)
	case u.containers > 0:
		return report.Fail(report.Refused, "crictl ps\n"+
			"# if none of them is needed: crictl rmp --all --force",
			"running containers of CRI-O: %d", u.containers)
	case u.runsPods:
		return report.Fail(report.Refused, "systemctl status --no-pager kubepods.slice\n"+
			"# if none of them is needed: systemctl stop kubepods.slice",
			"processes of pods run in kubepods.slice")
	}
	return nil
}
