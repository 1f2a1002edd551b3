// SPDX-License-Identifier: Apache-2.0

package report

import (
	"net"
	"path/filepath"
	"testing"
)

func TestServiceNotifiesSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	SystemdNotifier{}.Status("waits for the API server")
	SystemdNotifier{}.Ready("watching")
	for _, want := range []string{"STATUS=waits for the API server", "READY=1\nSTATUS=watching"} {
		message := make([]byte, 1000)
		n, err := socket.Read(message)
		if err != nil || string(message[:n]) != want {
			t.Errorf("systemd is told %q, %v; want %q", message[:n], err, want)
		}
	}
}
