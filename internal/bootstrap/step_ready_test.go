// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// The bootstrap credential must be removed from everything that is saved, whatever
// its origin.
func TestSaveWithoutTheBootstrapCredential(t *testing.T) {
	j := joinWithPayload(t, firstOverride, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"`+
		ignition.BootstrapKubeconfigPath+`","mode":384},{"path":"/etc/c"}]}}`)
	if err := j.LoadPayload(t.Context(), report.Log{}, j.Run.SavedPayload()); err != nil {
		t.Fatal(err)
	}
	if err := saveWithout(j.Run.Dir, j.Loaded, ignition.BootstrapKubeconfigPath); err != nil {
		t.Fatal(err)
	}
	list, err := joinstate.LoadOverrides(j.Run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	again := NewFlow(plan.Run{Dir: j.Run.Dir, Request: request.Request{Overrides: list}}, nil)
	if err := again.LoadPayload(t.Context(), report.Log{}, again.Run.SavedPayload()); err != nil {
		t.Fatal(err)
	}
	if again.Loaded.Payload.BootstrapKubeconfig() != nil {
		t.Error("the credential is back")
	}
	if again.Loaded.Payload.FileCount() != 3 {
		t.Errorf("left: %s", again.Loaded.Payload)
	}
}
