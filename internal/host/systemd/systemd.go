// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bus"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Manager is a connection to the host's service manager.
type Manager struct {
	conn *dbus.Conn
	bus  *godbus.Conn // for methods that go-systemd does not support
}

// ErrUnreachable means that no service manager responds, as in a container.
var ErrUnreachable = errors.New("systemd does not respond on the system bus")

// Open connects to the service manager. The connections outlive ctx,
// whose end would close them (WithContext in godbus' conn.go): a rollback must
// stop timers and start daemons even after Ctrl-C. Each call has its own
// context.
func Open(ctx context.Context) (*Manager, error) {
	ctx = context.WithoutCancel(ctx)
	conn, err := dbus.NewConnection(func() (*godbus.Conn, error) { return bus.Connect(ctx) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	methods, err := bus.Connect(ctx)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return &Manager{conn: conn, bus: methods}, nil
}

// Close closes the connections.
func (m *Manager) Close() {
	m.conn.Close()
	m.bus.Close()
}

// Version returns the version of the running service manager, such as 252-51.el9.
func (m *Manager) Version() (string, error) {
	value, err := m.conn.GetManagerProperty("Version")
	return strings.Trim(value, `"`), wrap.Errorf(err, "reading the version of systemd")
}

// UnitState is the state of a unit in systemd.
type UnitState struct {
	Load    string `json:"load" doc:"LoadState, such as loaded, not-found or masked"`
	Active  string `json:"active" doc:"ActiveState, such as active, inactive or failed"`
	Sub     string `json:"sub,omitempty" doc:"SubState, such as running, dead or auto-restart"`
	File    string `json:"file,omitempty" doc:"UnitFileState, such as enabled, disabled or static; absent without a unit file"`
	Result  string `json:"result,omitempty" doc:"Result of a service, such as success or exit-code"`
	MainPID int    `json:"mainPID,omitempty" doc:"process ID of a running service"`

	Since time.Time `json:"since,omitzero" doc:"time of the last activation"`
}

// UnitState returns the state of unit name.
func (m *Manager) UnitState(ctx context.Context, name string) (UnitState, error) {
	listed, err := m.conn.ListUnitsByNamesContext(ctx, []string{name})
	if err == nil && len(listed) != 1 {
		err = fmt.Errorf("it returned %d units", len(listed))
	}
	if err != nil {
		return UnitState{}, fmt.Errorf("reading the state of %s from systemd: %w", name, err)
	}
	state := UnitState{Load: listed[0].LoadState, Active: listed[0].ActiveState, Sub: listed[0].SubState}
	// The cached UnitFileState property is outdated until a reload; the manager's
	// method reads the files.
	if state.File, err = m.unitFileState(ctx, name); err != nil || state.Active == "inactive" {
		return state, err
	}
	state.Since, state.Result, state.MainPID, err = m.activation(ctx, name)
	return state, wrap.Errorf(err, "reading the state of %s from systemd", name)
}

// activation returns the time of the last activation of a unit, and of a service its result and its process. It reads
// single properties, because all of them take systemd ten times as long.
func (m *Manager) activation(ctx context.Context, name string) (since time.Time, result string, pid int, err error) {
	property, err := m.conn.GetUnitPropertyContext(ctx, name, "ActiveEnterTimestamp")
	if err != nil {
		return since, "", 0, err
	}
	if entered, ok := property.Value.Value().(uint64); ok && entered > 0 {
		since = time.UnixMicro(int64(entered)) //nolint:gosec // microseconds since 1970 fit
	}
	if !strings.HasSuffix(name, ".service") {
		return since, "", 0, nil
	}
	if property, err = m.conn.GetServicePropertyContext(ctx, name, "Result"); err != nil {
		return since, "", 0, err
	}
	result = stringValue(property.Value.Value())
	if property, err = m.conn.GetServicePropertyContext(ctx, name, "MainPID"); err != nil {
		return since, result, 0, err
	}
	main, _ := property.Value.Value().(uint32)
	return since, result, int(main), nil
}

// UnitFiles returns the states of all unit files, such as enabled, disabled or static, by name.
func (m *Manager) UnitFiles(ctx context.Context) (map[string]string, error) {
	files, err := m.conn.ListUnitFilesContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the unit files of systemd: %w", err)
	}
	states := map[string]string{}
	for _, file := range files {
		states[path.Base(file.Path)] = file.Type
	}
	return states, nil
}

func (m *Manager) unitFileState(ctx context.Context, name string) (string, error) {
	var state string
	err := m.bus.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1").
		CallWithContext(ctx, "org.freedesktop.systemd1.Manager.GetUnitFileState", 0, name).Store(&state)
	var busErr godbus.Error
	if errors.As(err, &busErr) && (busErr.Name == "org.freedesktop.DBus.Error.FileNotFound" ||
		busErr.Name == "org.freedesktop.systemd1.NoSuchUnit") {
		return "", nil
	}
	return state, wrap.Errorf(err, "reading whether %s is enabled from systemd", name)
}

// UnitDirs returns the directories from which systemd reads unit files and drop-ins, and its own configuration.
func UnitDirs() []string {
	return []string{"/etc/systemd", "/run/systemd/system", "/usr/local/lib/systemd", "/usr/lib/systemd/system"}
}

// UnitsLoaded returns the time of the last boot or reload, at which systemd read all unit files.
func (m *Manager) UnitsLoaded() (time.Time, error) {
	var loaded uint64
	err := m.bus.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1").
		StoreProperty("org.freedesktop.systemd1.Manager.UnitsLoadTimestamp", &loaded)
	return time.UnixMicro(int64(loaded)), //nolint:gosec // microseconds since 1970 fit
		wrap.Errorf(err, "reading from systemd when it last read the unit files")
}

// Reload makes systemd read all unit files again.
func (m *Manager) Reload(ctx context.Context) error {
	return wrap.Errorf(m.conn.ReloadContext(ctx), "reloading systemd")
}

// Enable creates the links of a unit's [Install] section. It does not start the
// unit.
func (m *Manager) Enable(ctx context.Context, name string) error {
	_, _, err := m.conn.EnableUnitFilesContext(ctx, []string{name}, false, true)
	return wrap.Errorf(err, "enabling %s", name)
}

// Disable removes the links of a unit's [Install] section. It does not stop the
// unit.
func (m *Manager) Disable(ctx context.Context, name string) error {
	_, err := m.conn.DisableUnitFilesContext(ctx, []string{name}, false)
	return wrap.Errorf(err, "disabling %s", name)
}

// Start starts a unit and waits for the job to finish.
func (m *Manager) Start(ctx context.Context, name string) error {
	return m.runJob(ctx, "starting", name, m.conn.StartUnitContext)
}

// Stop stops a unit and waits for the job to finish.
func (m *Manager) Stop(ctx context.Context, name string) error {
	return m.runJob(ctx, "stopping", name, m.conn.StopUnitContext)
}

// Restart restarts a unit, or starts it, and waits for the job to finish.
func (m *Manager) Restart(ctx context.Context, name string) error {
	return m.runJob(ctx, "restarting", name, m.conn.RestartUnitContext)
}

// StartNoWait starts a unit without waiting for the job.
func (m *Manager) StartNoWait(ctx context.Context, name string) error {
	_, err := m.conn.StartUnitContext(ctx, name, "replace", nil)
	return wrap.Errorf(err, "starting %s", name)
}

// ResetFailed clears the failed state and the restart counter of a unit. It
// skips a unit that has not failed, because systemd unloads unreferenced units
// and would return that there is no such unit.
func (m *Manager) ResetFailed(ctx context.Context, name string) error {
	state, err := m.UnitState(ctx, name)
	if err != nil || state.Active != "failed" {
		return err
	}
	return wrap.Errorf(m.conn.ResetFailedUnitContext(ctx, name), "resetting %s", name)
}

type startJob func(ctx context.Context, name, mode string, done chan<- string) (int, error)

func (m *Manager) runJob(ctx context.Context, doing, name string, start startJob) error {
	defer trace.Start(ctx, trace.Unit, doing+" "+name)()
	done := make(chan string, 1)
	if _, err := start(ctx, name, "replace", done); err != nil {
		return wrap.Errorf(err, "%s %s", doing, name)
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("%s %s: systemd job result %q; see: journalctl -u %s -b", doing, name, result, name)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s %s: %w", doing, name, ctx.Err())
	}
}

func stringValue(value any) string {
	s, _ := value.(string)
	return s
}
