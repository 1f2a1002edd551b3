package bootstrap

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/networkplugin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// localHost is the opened host and its ledger.
type localHost struct {
	tree         *hostfs.Tree
	systemd      *systemd.Manager
	systemdErr   error // why systemd is nil
	ledger       *ledger.Ledger
	facts        hostinfo.Facts
	nm           *networkmanager.Client
	bridge       *migrate.Driver
	plugin       *networkplugin.Driver
	sharedDriver *resource.SharedDirSnapshot // also a driver of the ledger
}

// openLocalHost opens the running host. If write is true, it opens the ledger for
// writing, which requires root and locks out other runs.
func openLocalHost(ctx context.Context, stateDir string, write bool) (*localHost, error) {
	m, err := openWithoutLedger(ctx, stateDir)
	if err != nil {
		if m != nil {
			m.close()
		}
		return nil, err
	}
	if write && !m.facts.Root {
		m.close()
		return nil, report.Fail(report.Refused, "# run the same command with sudo", "the agent does not run as root")
	}
	open := ledger.OpenReadOnly
	if write {
		open = ledger.Open
	}
	if m.ledger, err = open(stateDir, m.drivers()); err != nil {
		m.close()
		if errors.Is(err, ledger.ErrLocked) {
			return nil, report.Fail(report.Failed, "hcp-node-agent status # shows how far it is", "%w", err)
		}
		return nil, err
	}
	return m, nil
}

// openWithoutLedger opens the running host without its ledger. It may return both
// an error and a host for which some facts are unknown.
func openWithoutLedger(ctx context.Context, stateDir string) (*localHost, error) {
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return nil, err
	}
	m := &localHost{tree: tree}
	var unknown error
	m.facts, unknown = hostinfo.Gather(ctx)
	m.systemd, m.systemdErr = systemd.Open(ctx)
	m.bridge = &migrate.Driver{Systemd: m.systemd, Tree: tree, Dir: stateDir}
	m.plugin = &networkplugin.Driver{Systemd: m.systemd}
	if m.nm, err = networkmanager.Open(ctx); err == nil {
		m.bridge.NM = m.nm // if NetworkManager is unreachable, a check reports it
	}
	return m, unknown
}

// drivers returns the ledger drivers for this host.
func (m *localHost) drivers() ledger.Drivers {
	contents := &resource.DirSnapshot{Tree: m.tree}
	m.sharedDriver = &resource.SharedDirSnapshot{DirSnapshot: contents}
	drivers := ledger.Drivers{
		Paths: &ledger.Paths{Tree: m.tree, SELinux: selinux.Policy{Tree: m.tree}},
		Resources: map[ledger.Kind]ledger.Driver{
			ledger.Sysctl:  resource.Sysctls{},
			ledger.Module:  resource.Modules{},
			ovs.BridgeKind: m.bridge,
		},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
			ledger.Contents:          contents,
			ledger.SharedContents:    m.sharedDriver,
			ledger.Interfaces:        resource.NetworkInterfaces{},
			ledger.ForeignSysctl:     resource.Sysctls{},
			crio.StorageKind:         &crio.StorageDriver{Contents: contents},
			networkplugin.Kind:       m.plugin,
			packages.TransactionKind: &packages.Transactions{},
		},
	}
	accounts.AddDrivers(drivers)
	if m.systemd != nil {
		drivers.Resources[ledger.Unit] = &resource.Units{Systemd: m.systemd}
	}
	return drivers
}

func (m *localHost) close() {
	if m.ledger != nil {
		m.ledger.Close()
	}
	if m.nm != nil {
		m.nm.Close()
	}
	if m.systemd != nil {
		m.systemd.Close()
	}
	m.tree.Close()
}
