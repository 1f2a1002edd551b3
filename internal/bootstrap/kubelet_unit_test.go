// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// kubeletManager is the part of systemd's manager that starts kubelet and enables its unit, with the unit
// files of a root directory.
type kubeletManager struct {
	root   string
	active atomic.Bool
}

func (m *kubeletManager) systemctl(verb string) string {
	// is-enabled fails if it is disabled
	out, _ := exec.Command("systemctl", "--root="+m.root, verb, kubelet.UnitName).Output()
	return strings.TrimSpace(string(out))
}

func (m *kubeletManager) GetUnitFileState(string) (string, *dbus.Error) {
	return m.systemctl("is-enabled"), nil
}

func (m *kubeletManager) EnableUnitFiles([]string, bool, bool) (bool, []struct{ A, B, C string }, *dbus.Error) {
	m.systemctl("enable")
	return true, nil, nil
}

func (m *kubeletManager) DisableUnitFiles([]string, bool) ([]struct{ A, B, C string }, *dbus.Error) {
	m.systemctl("disable")
	return nil, nil
}

func (m *kubeletManager) StartUnit(string, string) (dbus.ObjectPath, *dbus.Error) {
	m.active.Store(true)
	return "/org/freedesktop/systemd1/job/1", nil
}

func (m *kubeletManager) ListUnitsByNames(names []string) ([]sdbus.UnitStatus, *dbus.Error) {
	active := "inactive"
	if m.active.Load() {
		active = "active"
	}
	return bustest.ListedUnits(names, "loaded", active), nil
}

// startManager returns a running kubeletManager with kubelet's unit file, and a client of it.
func startManager(t *testing.T) (*kubeletManager, *systemd.Manager) {
	t.Helper()
	bustest.Start(t)
	m := &kubeletManager{root: t.TempDir()}
	dir := filepath.Join(m.root, "etc/systemd/system")
	flowtest.NoError(t, os.MkdirAll(dir, 0o750))
	const unit = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
	flowtest.NoError(t, os.WriteFile(filepath.Join(dir, kubelet.UnitName), []byte(unit), 0o600))
	server := bustest.Own(t, "org.freedesktop.systemd1")
	flowtest.NoError(t, server.Export(m, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"))
	flowtest.NoError(t, server.Export(bustest.UnitProperties{}, "/org/freedesktop/systemd1/unit/kubelet_2eservice",
		"org.freedesktop.DBus.Properties"))
	client, err := systemd.Open(t.Context())
	flowtest.NoError(t, err)
	t.Cleanup(client.Close)
	return m, client
}

// A kubelet that was disabled after the join is drift, because it would not start at the next boot. A join
// enables it again, and a leave, which stops kubelet first, restores the unit.
func TestKubeletEnablement(t *testing.T) {
	manager, client := startManager(t)
	tree, err := hostfs.OpenTree(manager.root)
	flowtest.NoError(t, err)
	defer tree.Close()
	m := &machine.Machine{Tree: tree, Systemd: client}
	m.Ledger, err = ledger.Open(t.TempDir(), m.Drivers())
	flowtest.NoError(t, err)
	defer m.Ledger.Close()
	enable := func() {
		t.Helper()
		_, err := m.Ledger.Apply(t.Context(), "kubelet", []ledger.Change{{
			Kind: ledger.Unit, Target: kubelet.UnitName, Desired: ledger.State{Present: true, Enabled: "enabled"},
		}})
		flowtest.NoError(t, err)
	}
	checkDrift := func(when string, want int) {
		t.Helper()
		if drift, err := m.Ledger.Drift(t.Context()); err != nil || len(drift) != want {
			t.Errorf("%s: drift %+v, %v; want %d", when, drift, err, want)
		}
	}

	enable()
	flowtest.NoError(t, beginKubelet(t.Context(), client, systemd.StartNeeded))
	checkDrift("after the join", 0)
	flowtest.NoError(t, client.Disable(t.Context(), kubelet.UnitName))
	checkDrift("disabled", 1)
	enable()
	checkDrift("after a repeated join", 0)

	manager.active.Store(false)
	outcome, err := m.Ledger.Undo(t.Context())
	if err != nil || len(outcome.Kept) > 0 || manager.systemctl("is-enabled") != "disabled" {
		t.Errorf("after the leave: kept %+v, %v; the unit is %s", outcome.Kept, err, manager.systemctl("is-enabled"))
	}
}
