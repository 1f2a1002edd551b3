// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// nodeIPTimeout is the maximum time to wait for addresses at boot.
const nodeIPTimeout = 30 * time.Second

// NodeIPResult is the result of RefreshNodeIP.
type NodeIPResult struct {
	report.TypeMeta
	Addresses []netip.Addr `json:"addresses" doc:"addresses that kubelet is configured with, the primary address first"`
	Before    []netip.Addr `json:"before" doc:"addresses that kubelet was configured with before"`
	Changed   bool         `json:"changed" doc:"whether the addresses of kubelet or CRI-O changed"`
	Note      string       `json:"note,omitempty" doc:"why nothing was done"`
	report.CommandResult
}

// RefreshNodeIP updates the node's addresses in the configuration of kubelet and
// CRI-O. A DHCP server may have assigned other addresses than at the last boot.
// kubelet and CRI-O read the configuration when they start; RefreshNodeIP does not
// start or stop them.
func RefreshNodeIP(ctx context.Context, options request.Options) (NodeIPResult, error) {
	document := NodeIPResult{TypeMeta: report.Meta("NodeIPResult")}
	managed, err := nodecheck.ManagesNodeIP(options.StateDir)
	if err != nil {
		return document, err
	}
	if !managed {
		document.Note = "hcp-node-agent has not configured a node IP for kubelet yet"
		return document, nil
	}
	previous, err := nodeip.Configured()
	if err != nil {
		return document, err
	}
	document.Before = previous.All()
	limited, cancel := context.WithTimeout(ctx, nodeIPTimeout)
	chosen, err := nodeip.Await(limited, previous)
	cancel()
	if err == nil && !chosen.Primary().IsValid() {
		err = report.Fail(report.Failed, "ip -br address; ip route show default # when the address is back: "+
			"hcp-node-agent node-ip && systemctl restart crio kubelet",
			"no address of this host is suitable as the node IP after %s; kubelet keeps %s", nodeIPTimeout,
			previous.Primary())
	}
	if err != nil {
		return document, err
	}
	document.Addresses = chosen.All()
	document.Changed, err = applyNodeIPs(ctx, options, chosen)
	if errors.Is(err, ledger.ErrLocked) {
		// Every run that changes the host at boot updates the addresses itself.
		document.Note = "another hcp-node-agent process is changing this host and updates the addresses"
		return document, nil
	}
	return document, err
}

// applyNodeIPs writes the files and reports whether kubelet's configuration
// changed. The files in /run never exist after a boot, so they do not count.
func applyNodeIPs(ctx context.Context, options request.Options, chosen nodeip.Addresses) (bool, error) {
	m, err := machine.Open(ctx, options.StateDir, true)
	if err != nil {
		return false, err
	}
	defer m.Close()
	made, err := m.Ledger.Apply(ctx, "node-ip", nodeip.Files(chosen))
	if err != nil {
		return false, err
	}
	isDropIn := func(p ledger.PlannedChange) bool { return hostfs.IsWithin(p.Target, "/etc/systemd/system") }
	if !slices.ContainsFunc(made, isDropIn) {
		return false, nil
	}
	if m.Systemd == nil {
		return true, fmt.Errorf("the node IP was written, but systemd was not reloaded: %w", m.SystemdErr)
	}
	return true, m.Systemd.Reload(ctx)
}
