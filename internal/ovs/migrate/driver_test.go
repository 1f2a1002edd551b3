// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// Set makes the migration that was planned, and decides nothing itself.
func TestSetNeedsAPlannedMigration(t *testing.T) {
	driver := &Driver{}
	if err := driver.Set(t.Context(), ledger.Change{Kind: Kind, Target: ovs.BridgeName}, ledger.State{}); err == nil {
		t.Error("Set() succeeds without a planned migration")
	}
	driver.Request = &Request{Migration: ovs.Migration{Uplink: "eth0", AlreadyAttached: true}}
	change := driver.Request.Change()
	if err := driver.Set(t.Context(), change, ledger.State{}); err != nil {
		t.Errorf("Set() = %v for a migration with nothing to do", err)
	}
	if err := driver.Set(t.Context(), change, ledger.State{}); err == nil {
		t.Error("Set() makes a planned migration twice")
	}
}

// Facts of a request are used until its migration starts, and never afterwards: the ledger then reads the state
// of br-ex again.
func TestGetUsesTheFactsOfTheRequest(t *testing.T) {
	tree, err := hostfs.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	request := Request{
		Migration: ovs.Migration{Uplink: "eth0", AlreadyAttached: true}, Facts: facts(t, "bridged"),
	}
	driver := &Driver{Tree: tree, Dir: "/state", Request: &request}
	change := request.Change()
	if state, err := driver.Get(t.Context(), change); err != nil || !state.Present {
		t.Errorf("Get() = %+v, %v; want br-ex of the facts", state, err)
	}
	if err := driver.Set(t.Context(), change, ledger.State{}); err != nil {
		t.Fatal(err)
	}
	if state, err := driver.Get(t.Context(), change); err != nil || state.Present {
		t.Errorf("Get() = %+v, %v after the migration; want the state of the host", state, err)
	}
}
