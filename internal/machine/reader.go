// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Reader reads a host. Plans, diagnostics and the status get a Reader: it has nothing that changes the host.
type Reader struct {
	Facts          hostinfo.Facts
	Files          hostfs.Reader
	Units          systemd.Reader        // nil if systemd is unreachable
	UnitsErr       error                 // why Units is nil
	NetworkManager networkmanager.Reader // nil if NetworkManager is unreachable
	Ledger         ledger.Reader         // nil if the ledger was not opened
	LedgerErr      error                 // why Ledger is nil

	close func() // nil if another owner closes the host
}

// Close closes the host if the Reader has opened it.
func (r Reader) Close() {
	if r.close != nil {
		r.close()
	}
}

// Deployments returns the deployments of the host, nil in package mode and without root, which bootc requires.
func (r Reader) Deployments(ctx context.Context) (*deployment.Status, error) {
	if !r.Facts.Root {
		return nil, nil //nolint:nilnil // they are unknown, which is no failure
	}
	return deployment.Read(ctx, r.Facts.Class())
}

// RequireSystemd fails if systemd is unreachable. The units of the host cannot be read then.
func (r Reader) RequireSystemd() error { return requireSystemd(r.Units != nil, r.UnitsErr) }

// Reader returns the view of this host for code that changes nothing.
func (m *Machine) Reader() Reader {
	r := Reader{
		Facts: m.Facts, Units: m.Systemd.Reader(), UnitsErr: m.SystemdErr,
		NetworkManager: m.NM.Reader(), Ledger: m.Ledger.Reader(),
	}
	if m.Tree != nil {
		r.Files = m.Tree
	}
	return r
}

// OpenReader opens the running host for a command that changes nothing.
func OpenReader(ctx context.Context, stateDir string) (Reader, error) {
	m, err := Open(ctx, stateDir, false)
	if err != nil {
		return Reader{}, err
	}
	r := m.Reader()
	r.close = m.Close
	return r, nil
}

// Inspect opens as much of the running host as can be opened, for diagnostics. Without services, it connects
// neither to systemd nor to NetworkManager. The error is about facts that are unknown.
func Inspect(ctx context.Context, stateDir string, services bool) (Reader, error) {
	m, err := openWithoutLedger(ctx, stateDir, services)
	if m == nil {
		return Reader{}, err
	}
	var ledgerErr error
	if m.Ledger, ledgerErr = ledger.OpenReadOnly(stateDir, m.Drivers()); ledgerErr != nil {
		m.Ledger = nil
	}
	r := m.Reader()
	r.LedgerErr, r.close = ledgerErr, m.Close
	return r, err
}
