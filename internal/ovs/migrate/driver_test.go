// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// Set makes the migration that was planned, and decides nothing itself.
func TestSetNeedsAPlannedMigration(t *testing.T) {
	driver := &Driver{}
	if err := driver.Set(t.Context(), ledger.Change{Kind: Kind, Target: ovs.BridgeName}, ledger.State{}); err == nil {
		t.Error("Set() succeeds without a planned migration")
	}
	planned := Request{Migration: ovs.Migration{Uplink: "eth0", AlreadyAttached: true}}.Change()
	if err := driver.Set(t.Context(), planned, ledger.State{}); err != nil {
		t.Errorf("Set() = %v for a migration with nothing to do", err)
	}
}
