package systemd

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
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

// startBus starts a separate message bus and returns its address.
func startBus(t *testing.T) string {
	t.Helper()
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:dir="+t.TempDir())
	said, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	if err != nil {
		t.Skipf("dbus-daemon does not start (Debian: apt-get install dbus): %v", err)
	}
	t.Cleanup(func() { _ = bus.Wait() }) // exits with the test's context
	address, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatalf("the bus does not tell its address: %v", err)
	}
	return strings.TrimSpace(address)
}
