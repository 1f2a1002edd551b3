// SPDX-License-Identifier: Apache-2.0

package nodecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// GatherHost reads the facts about a node that has joined. units can be nil; a missing
// restart of kubelet is then not found.
func GatherHost(ctx context.Context, units systemd.Reader, stateDir, nodeName string) (HostFacts, error) {
	facts := HostFacts{NodeName: nodeName}
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return facts, err
	}
	defer tree.Close()
	if facts.Hostname, err = os.Hostname(); err != nil {
		return facts, fmt.Errorf("reading the host name: %w", err)
	}
	if facts.CurrentName, err = kubelet.HostNodeName(tree, facts.Hostname); err != nil {
		return facts, err
	}
	records, err := ledger.OpenReadOnly(stateDir, ledger.Drivers{})
	if err != nil {
		return facts, err
	}
	items := records.Items()
	if facts.RolledBack, err = isRolledBack(items, tree); err != nil {
		return facts, err
	}
	configured, err := nodeip.Configured()
	if err != nil || !configured.Primary().IsValid() {
		return facts, err
	}
	if !containsNodeIP(items) {
		return facts, nil
	}
	facts.Configured = configured
	if facts.Existing, err = machine.Addresses(); err != nil {
		return facts, err
	}
	if facts.Suitable, err = nodeip.Current(configured); err != nil || units == nil {
		return facts, err
	}
	kubeletUnit, err := units.UnitState(ctx, kubelet.UnitName)
	if err == nil && kubeletUnit.MainPID > 0 {
		facts.Running = nodeip.Running(kubeletUnit.MainPID)
	}
	return facts, err
}

// isRolledBack reports whether the file that names the applied payload is not that of the ledger, which is in /var.
func isRolledBack(items []ledger.Item, tree hostfs.Reader) (bool, error) {
	item := lists.Find(items, func(item ledger.Item) bool {
		return item.Target == joinstate.AppliedPayloadPath && item.Done
	})
	if item.Target == "" {
		return false, nil
	}
	content, _, err := tree.ReadFile(joinstate.AppliedPayloadPath)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return err == nil && ledger.FileState(content, 0).Digest != item.Desired.Digest, err
}

// OpenNode returns a client for the Node of a joined host, with a kubeconfig of the node.
func OpenNode(
	kubeconfig string, state joinstate.State, bootID string, units systemd.Reader, log report.Log,
) (*node.Node, error) {
	opened, err := node.OpenNode(kubeconfig, state.NodeName, nil, log)
	if err != nil {
		return nil, err
	}
	opened.BootID, opened.Registered, opened.RequestedTaints = bootID, state.Registered, state.Config.Taints
	opened.Host = node.JoinedHost(units, crio.NetworkDirectory)
	return opened, nil
}

// ManagesNodeIP reports whether the ledger contains kubelet's drop-in with the node's
// addresses. Another program may have written a file of the same name.
func ManagesNodeIP(stateDir string) (bool, error) {
	records, err := ledger.OpenReadOnly(stateDir, ledger.Drivers{})
	if err != nil {
		return false, err
	}
	return containsNodeIP(records.Items()), nil
}

func containsNodeIP(items []ledger.Item) bool {
	return slices.ContainsFunc(items, func(item ledger.Item) bool { return item.Target == nodeip.KubeletDropIn })
}
