// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A run of an administrator must wait for another run, such as one at first boot.
func TestAcquireLockWaits(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root changes a host")
	}
	dir := t.TempDir()
	other, err := ledger.Open(dir, ledger.Drivers{})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := Acquire(short, dir, nil, false); report.CodeOf(err) != report.Failed ||
		!strings.Contains(err.Error(), "another hcp-node-agent process is changing this host") {
		t.Errorf("with the time over: %v", err)
	}

	events := &eventRecorder{onEvent: func() { other.Close() }}
	m, turn, err := Acquire(t.Context(), dir, events, false)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if !turn.Waited || turn.Stopped || len(events.messages) != 1 ||
		events.messages[0] != "waiting for another hcp-node-agent process to finish changing this host" {
		t.Errorf("%+v, %q", turn, events.messages)
	}
}

type eventRecorder struct {
	messages []string
	onEvent  func()
}

func (r *eventRecorder) Emit(event report.Event) {
	r.messages = append(r.messages, event.Message)
	r.onEvent()
}
