// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestDeclaredBridgeIsRefused(t *testing.T) {
	for file, isRefused := range map[string]bool{
		"/etc/nmstate/openshift/cluster.yml":  true,
		"/etc/nmstate/openshift/worker-0.yml": true,
		"/etc/nmstate/openshift/worker-1.yml": false, // of another host
		"/etc/nmstate/openshift/applied":      false,
		"/etc/nmstate/site.yml":               false,
	} {
		p := &Plan{Plan: &adapt.Plan{Files: []ledger.Change{ledger.FileChange(file, "of the payload", "interfaces: []\n")}}}
		err := refuseDeclaredBridge(p, "worker-0.example.com")
		if isRefused != (report.CodeOf(err) == report.Refused && strings.Contains(err.Error(), file)) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
