// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bus"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
)

func TestCallsAreRecorded(t *testing.T) {
	bustest.Start(t)
	recorder := trace.NewRecorder()
	connection, err := bus.Connect(recorder.Context(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	var id string
	if err := connection.BusObject().CallWithContext(t.Context(), "org.freedesktop.DBus.GetId", 0).Store(&id); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := recorder.Encode(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"GetId /org/freedesktop/DBus"`) {
		t.Error(out.String())
	}
}
