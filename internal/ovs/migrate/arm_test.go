// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
)

const (
	nmName      = "org.freedesktop.NetworkManager"
	nmPath      = "/org/freedesktop/NetworkManager"
	systemdName = "org.freedesktop.systemd1"
	systemdPath = "/org/freedesktop/systemd1"
)

// checkpointRefuser is a NetworkManager that refuses a checkpoint. It sends the requested timeout, and
// what has armed the rollback by then.
type checkpointRefuser struct {
	calls   string // the file to which the fake systemd-run writes its arguments
	pending string // the pending file
	armed   chan armedRollback
}

type armedRollback struct {
	checkpointTimeout time.Duration
	timer             string // the arguments of systemd-run; "": the timer was not started
	isPending         bool   // the pending file exists
}

func (c checkpointRefuser) CheckpointCreate(_ []dbus.ObjectPath, seconds, _ uint32) (dbus.ObjectPath, *dbus.Error) {
	arguments, _ := os.ReadFile(c.calls)
	_, err := os.Stat(c.pending)
	c.armed <- armedRollback{time.Duration(seconds) * time.Second, string(arguments), err == nil}
	return "/", dbus.NewError(nmName+".InvalidArguments", []any{"another checkpoint exists"})
}

// inactiveUnits is a systemd without active units.
type inactiveUnits struct{}

func (inactiveUnits) GetUnitFileState(string) (string, *dbus.Error) {
	return "", dbus.NewError(systemdName+".NoSuchUnit", nil)
}

func (inactiveUnits) ListUnitsByNames(names []string) ([]sdbus.UnitStatus, *dbus.Error) {
	return bustest.ListedUnits(names, "not-found", "inactive"), nil
}

func export(t *testing.T, server *dbus.Conn, object any, path dbus.ObjectPath, name string) {
	t.Helper()
	if err := server.Export(object, path, name); err != nil {
		t.Fatal(err)
	}
}

// Before NetworkManager is called, the rollback must be armed: by the pending file, and by a timer that
// expires after NetworkManager's own rollback, which takes about a second. Otherwise both would change
// the network at the same time.
func TestMigrationArmsTheRollbackFirst(t *testing.T) {
	root, commands := t.TempDir(), t.TempDir()
	dir := "/var/lib/hcp-node-agent"
	if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(commands, "calls")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + calls + "\n"
	if err := os.WriteFile(filepath.Join(commands, "systemd-run"), []byte(script), //nolint:gosec // must be executable
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", commands+":"+os.Getenv("PATH"))

	bustest.Start(t)
	nm := checkpointRefuser{
		calls:   calls,
		pending: filepath.Join(root, dir, "network-migration.json"),
		armed:   make(chan armedRollback, 1),
	}
	export(t, bustest.Own(t, nmName), nm, nmPath, nmName)
	units := bustest.Own(t, systemdName)
	export(t, units, inactiveUnits{}, systemdPath, systemdName+".Manager")
	d := &Driver{Dir: dir, RollbackTimeout: 70 * time.Second}
	var err error
	if d.Tree, err = hostfs.OpenTree(root); err != nil {
		t.Fatal(err)
	}
	defer d.Tree.Close()
	if d.NM, err = networkmanager.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.NM.Close()
	if d.Systemd, err = systemd.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.Systemd.Close()

	planned, err := ovs.Plan(facts(t, "dhcp"), ovs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = d.migrate(t.Context(), Request{Migration: planned})
	if report.CodeOf(err) != report.Refused {
		t.Fatalf("migrate() = %v, want a refused checkpoint", err)
	}
	armed := <-nm.armed
	if !armed.isPending {
		t.Error("the checkpoint is requested before the pending file exists")
	}
	if armed.checkpointTimeout != d.RollbackTimeout {
		t.Errorf("timeout of the checkpoint: %s, want %s", armed.checkpointTimeout, d.RollbackTimeout)
	}
	if !strings.Contains(armed.timer, "--unit="+rollbackUnit+"\n") ||
		!strings.Contains(armed.timer, rollbackScript(d.pending().path(), planned.Backup)) {
		t.Errorf("the checkpoint is requested before the timer %s is started; systemd-run has the arguments %q",
			rollbackUnit, armed.timer)
	}
	onActive := regexp.MustCompile(`(?m)^--on-active=(\d+)s$`).FindStringSubmatch(armed.timer)
	if onActive == nil {
		t.Fatalf("the timer has no time: %q", armed.timer)
	}
	seconds, err := strconv.Atoi(onActive[1])
	if err != nil {
		t.Fatal(err)
	}
	if delay := time.Duration(seconds)*time.Second - armed.checkpointTimeout; delay < 3*time.Second {
		t.Errorf("the timer expires %s after the checkpoint, want at least 3s", delay)
	}
	if _, unfinished, err := d.pending().read(); unfinished || err != nil {
		t.Errorf("after the refusal the migration is unfinished: %t, %v", unfinished, err)
	}
}
