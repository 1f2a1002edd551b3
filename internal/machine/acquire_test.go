// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
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
	ctx, pass := waittest.Deadline(t, "waiting for the event of the wait", nil)
	if _, _, err := Acquire(ctx, dir, &eventRecorder{onEvent: pass}, false); report.CodeOf(err) != report.Failed ||
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
