// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// A rollback continues after Ctrl-C: the connections to systemd outlive the
// context of the run that opened them.
func TestSystemdOutlivesContext(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", startBus(t))
	ctx, interrupt := context.WithCancel(t.Context())
	systemd, err := Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	interrupt()
	// godbus closes a connection shortly after the end of its context.
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		if !systemd.conn.Connected() || !systemd.bus.Connected() {
			t.Fatalf("after the interruption the manager's connection is there: %t, the other: %t", systemd.conn.Connected(), systemd.bus.Connected())
		}
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
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", startBus(t))
	server, err := godbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.Export(fakeManager{}, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"); err != nil {
		t.Fatal(err)
	}
	if reply, err := server.RequestName("org.freedesktop.systemd1", godbus.NameFlagDoNotQueue); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	systemd, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	files, err := systemd.UnitFiles(t.Context())
	if diff := cmp.Diff(map[string]string{"crio.service": "disabled", "own@.service": "static"}, files); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// startBus starts a separate message bus and returns its address.
func startBus(t *testing.T) string {
	t.Helper()
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:dir="+t.TempDir())
	stdout, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	if err != nil {
		t.Skipf("dbus-daemon does not start (Debian: apt-get install dbus): %v", err)
	}
	t.Cleanup(func() { _ = bus.Wait() }) // exits with the test's context
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the bus does not tell its address: %v", err)
	}
	return strings.TrimSpace(address)
}
