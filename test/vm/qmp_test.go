// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// fakeQEMU responds to each request with one of the batches of lines.
func fakeQEMU(t *testing.T, batches ...string) *monitor {
	t.Helper()
	return observedQEMU(t, func() {}, batches...)
}

// observedQEMU is fakeQEMU that calls onRequest before each response.
func observedQEMU(t *testing.T, onRequest func(), batches ...string) *monitor {
	t.Helper()
	m, file, err := newMonitor()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.close(); conn.Close() })
	go func() {
		requests := bufio.NewScanner(conn)
		for _, batch := range batches {
			if !requests.Scan() {
				return
			}
			onRequest()
			_, _ = io.WriteString(conn, batch)
		}
	}()
	return m
}

func TestMonitorSkipsEventsAndCommandErrors(t *testing.T) {
	m := fakeQEMU(t,
		`{"QMP":{"version":{}}}{"return":{}}`,
		`{"event":"RESUME"}{"error":{"class":"GenericError","desc":"no such tag"}}`,
		`{"event":"STOP"}{"return":"said"}`)
	if err := m.greet(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := m.execute(t.Context(), "one", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no such tag") {
		t.Errorf("got %v, want QEMU's own words", err)
	}
	if answer, err := m.runHumanCommand(t.Context(), "two"); err != nil || answer != "said" {
		t.Errorf("got %q, %v; want the message", answer, err)
	}
}

func TestMonitorClosesWithContext(t *testing.T) {
	ctx, pass := waittest.Deadline(t, "waiting for the request", nil)
	m := observedQEMU(t, pass, "")
	if err := m.execute(ctx, "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	// The late response must not be used for the next command.
	if err := m.execute(t.Context(), "next", nil, nil); err == nil {
		t.Error("an interrupted monitor went on")
	}
}
