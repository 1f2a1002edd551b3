// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// Machine is the opened host and its ledger.
type Machine struct {
	Tree           *hostfs.Tree
	Systemd        *systemd.Manager
	SystemdErr     error // why Systemd is nil
	Ledger         *ledger.Ledger
	Facts          hostinfo.Facts
	NM             *networkmanager.Client
	Bridge         *migrate.Driver
	Plugin         *networkplugin.Driver
	Unpacker       *osimage.Driver             // also a driver of the ledger
	SharedContents *resource.SharedDirSnapshot // also a driver of the ledger
	LoadedConfigs  *resource.LoadedConfigs     // also a driver of the ledger
}

// Open opens the running host. If write is true, it opens the ledger for
// writing, which requires root and locks out other runs.
func Open(ctx context.Context, stateDir string, write bool) (*Machine, error) {
	m, err := openWithoutLedger(ctx, stateDir, true)
	if err != nil {
		if m != nil {
			m.Close()
		}
		return nil, err
	}
	if write && !m.Facts.Root {
		m.Close()
		return nil, report.Fail(report.Refused, "# rerun the command with sudo", "the command requires root privileges")
	}
	open := ledger.OpenReadOnly
	if write {
		// Steps roll back an unfinished migration in the middle of a run, which must not have started then.
		if _, _, err := migrate.UnfinishedMigration(m.Tree, stateDir); report.CodeOf(err) == report.Refused {
			m.Close()
			return nil, err
		}
		open = ledger.Open
	}
	if m.Ledger, err = open(stateDir, m.Drivers()); err != nil {
		m.Close()
		if errors.Is(err, ledger.ErrLocked) {
			return nil, report.Fail(report.Failed, "hcp-node-agent status # shows its progress", "%w", err)
		}
		return nil, err
	}
	return m, nil
}

// openWithoutLedger opens the running host without its ledger. It may return both
// an error and a host for which some facts are unknown. Without services, it connects
// neither to systemd nor to NetworkManager.
func openWithoutLedger(ctx context.Context, stateDir string, services bool) (*Machine, error) {
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return nil, err
	}
	m := &Machine{Tree: tree, SystemdErr: systemd.ErrUnreachable}
	var unknown error
	m.Facts, unknown = hostinfo.Gather(ctx)
	if services {
		m.Systemd, m.SystemdErr = systemd.Open(ctx)
		if m.NM, err = networkmanager.Open(ctx); err != nil {
			m.NM = nil // a check reports it
		}
	}
	m.Bridge = &migrate.Driver{Systemd: m.Systemd, Tree: tree, Dir: stateDir, NM: m.NM}
	m.Plugin = &networkplugin.Driver{Systemd: m.Systemd}
	return m, unknown
}

// Drivers returns the ledger drivers for this host.
func (m *Machine) Drivers() ledger.Drivers {
	m.SharedContents = &resource.SharedDirSnapshot{DirSnapshot: &resource.DirSnapshot{Tree: m.Tree}}
	m.Unpacker = &osimage.Driver{Labeler: selinux.Policy{Tree: m.Tree}}
	m.LoadedConfigs = &resource.LoadedConfigs{Tree: m.Tree}
	drivers := kinds.Drivers(&kinds.Host{
		Tree:     m.Tree,
		Systemd:  m.Systemd,
		Bridge:   m.Bridge,
		Plugin:   m.Plugin,
		Unpacker: m.Unpacker,
		Configs:  m.LoadedConfigs,
		Shared:   m.SharedContents,

		ImageMode: m.Facts.Capabilities().HasImage,
	})
	drivers.IsMaintained = func(target string, content []byte) bool { return isMaintained(m.Tree, target, content) }
	return drivers
}

// RequireSystemd fails if systemd is unreachable. Steps that change the host need it.
func (m *Machine) RequireSystemd() error { return requireSystemd(m.Systemd != nil, m.SystemdErr) }

func requireSystemd(isReachable bool, err error) error {
	if isReachable {
		return nil
	}
	return report.Fail(report.Refused, "systemctl is-system-running", "systemd is unreachable: %w", err)
}

// Close closes what Open opened and releases the lock of the ledger.
func (m *Machine) Close() {
	if m.Ledger != nil {
		m.Ledger.Close()
	}
	if m.NM != nil {
		m.NM.Close()
	}
	if m.Systemd != nil {
		m.Systemd.Close()
	}
	m.Tree.Close()
}
