package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// nodeIPTime is how long addresses may take to appear at boot.
const nodeIPTime = 30 * time.Second

// NodeIPDocument is what became of the node's addresses.
type NodeIPDocument struct {
	report.TypeMeta
	Addresses []netip.Addr `json:"addresses"` // that kubelet is told, the primary first
	Before    []netip.Addr `json:"before"`    // that it was told before
	Changed   bool         `json:"changed"`
	Note      string       `json:"note,omitempty"` // why there was nothing to do
}

// RefreshNodeIP tells kubelet and CRI-O which addresses the node has, when they
// are not those of the last boot: a DHCP server can give another one. kubelet
// and CRI-O take them when they start; nothing is started or stopped here.
func RefreshNodeIP(ctx context.Context, options Options) (NodeIPDocument, error) {
	document := NodeIPDocument{TypeMeta: report.Meta("NodeIPResult"), Addresses: []netip.Addr{}, Before: []netip.Addr{}}
	ours, err := toldBefore(options.StateDir)
	if err != nil {
		return document, err
	}
	if !ours {
		document.Note = "no run of hcp-node-agent has told kubelet an address yet"
		return document, nil
	}
	had, err := writtenNodeIPs()
	if err != nil {
		return document, err
	}
	document.Before = append(document.Before, had.All()...)
	chosen, err := awaitNodeIP(ctx, had)
	if err != nil {
		return document, err
	}
	document.Addresses = append(document.Addresses, chosen.All()...)
	document.Changed, err = tellNodeIP(ctx, options, chosen)
	if errors.Is(err, ledger.ErrLocked) {
		// Everything that changes the host at boot tells the address itself.
		document.Note = "another hcp-node-agent is at work on this host, and sees to it"
		return document, nil
	}
	return document, err
}

// toldBefore tells whether the address is the agent's to tell: another program
// can have written a file of the same name.
func toldBefore(dir string) (bool, error) {
	records, err := ledger.View(dir, nil)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(records.Items(), func(item ledger.Item) bool { return item.Target == nodeip.KubeletDropIn }), nil
}

// writtenNodeIPs are those that kubelet is told now, none when somebody has
// removed the file.
func writtenNodeIPs() (nodeip.Addresses, error) {
	tree, err := host.OpenTree("/")
	if err != nil {
		return nodeip.Addresses{}, err
	}
	defer tree.Close()
	there, err := tree.Exists(nodeip.KubeletDropIn)
	if err != nil || !there {
		return nodeip.Addresses{}, err
	}
	content, _, err := tree.ReadFile(nodeip.KubeletDropIn)
	return nodeip.ParseDropIn(content), err
}

func awaitNodeIP(ctx context.Context, had nodeip.Addresses) (nodeip.Addresses, error) {
	limited, cancel := context.WithTimeout(ctx, nodeIPTime)
	defer cancel()
	chosen, err := nodeip.Await(limited, had)
	if err == nil && !chosen.Primary().IsValid() {
		err = report.Fail(report.Failed, "ip -br address; ip route show default # then: hcp-node-agent node-ip && systemctl restart crio kubelet",
			"no address of this host can be the node's after %s; kubelet is still told %s", nodeIPTime, had.Primary())
	}
	return chosen, err
}

// tellNodeIP writes the files and tells whether kubelet is told something else
// than before. The files in /run are missing after every boot.
func tellNodeIP(ctx context.Context, options Options, chosen nodeip.Addresses) (bool, error) {
	m, err := openMachine(ctx, options.StateDir, true)
	if err != nil {
		return false, err
	}
	defer m.close()
	made, err := m.ledger.Apply(ctx, "node-ip", nodeip.Files(chosen))
	if err != nil {
		return false, err
	}
	dropins := slices.ContainsFunc(made, func(p ledger.Pending) bool { return host.Within(p.Target, "/etc/systemd/system") })
	if !dropins {
		return false, nil
	}
	if m.systemd == nil {
		return true, fmt.Errorf("the node's address is written, but systemd has not read it: %w", m.noBus)
	}
	return true, m.systemd.Reload(ctx)
}
