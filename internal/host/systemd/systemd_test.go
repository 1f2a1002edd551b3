// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"context"
	"testing"

	godbus "github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A rollback continues after Ctrl-C: the connections to systemd outlive the
// context of the run that opened them.
func TestSystemdOutlivesContext(t *testing.T) {
	bustest.Start(t)
	ctx, interrupt := context.WithCancel(t.Context())
	systemd, err := Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	// godbus closes a connection shortly after the end of its context.
	ending, err := godbus.ConnectSystemBus(godbus.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	waittest.Until(t, "waiting for the end of a connection with the context", func() (any, bool) {
		return "connected", !ending.Connected()
	})
	if !systemd.conn.Connected() || !systemd.bus.Connected() {
		t.Fatalf("after the interruption the manager's connection is open: %t, the other: %t", systemd.conn.Connected(),
			systemd.bus.Connected())
	}
}

// fakeManager is the part of systemd's manager that lists unit files.
type fakeManager struct{}

type unitFile struct{ Path, State string }

func (fakeManager) ListUnitFiles() ([]unitFile, *godbus.Error) {
	return []unitFile{
		{"/usr/lib/systemd/system/crio.service", "disabled"},
		{"/etc/systemd/system/own@.service", "static"},
	}, nil
}

func TestUnitFiles(t *testing.T) {
	bustest.Start(t)
	server := bustest.Own(t, "org.freedesktop.systemd1")
	if err := server.Export(fakeManager{}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"); err != nil {
		t.Fatal(err)
	}
	systemd, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	files, err := systemd.UnitFiles(t.Context())
	if diff := cmp.Diff(map[string]string{"crio.service": "disabled", "own@.service": "static"}, files); diff != "" ||
		err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
