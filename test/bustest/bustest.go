// SPDX-License-Identifier: Apache-2.0

// Package bustest starts a separate D-Bus system bus, for tests.
package bustest

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// Start starts a bus that is the system bus of the test. Without dbus-daemon, it skips the test.
func Start(t *testing.T) {
	t.Helper()
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--nopidfile",
		"--print-address", "--address=unix:dir="+t.TempDir())
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
		t.Fatalf("the bus does not print its address: %v", err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
}

// Own connects to the bus and requests the name of a service. The connection is closed at the end of
// the test.
func Own(t *testing.T, name string) *dbus.Conn {
	t.Helper()
	server, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	reply, err := server.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("requesting the name %s: %d, %v", name, reply, err)
	}
	return server
}
